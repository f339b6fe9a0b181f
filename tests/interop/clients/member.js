// A member of a consumer group with kafkajs, which reports as the programs in tests/integration/groups/programs do.
'use strict'

const { parseArgs } = require('node:util')
const { AssignerProtocol, Kafka, logLevel } = require('kafkajs')

const { MemberAssignment, MemberMetadata } = AssignerProtocol
const text = { type: 'string' }
const { values: options } = parseArgs({
  options: {
    bootstrap: text,
    topic: text,
    group: text,
    assignor: text,
    'session-timeout': text,
    'instance-id': text,
    'group-protocol': text,
    'auto-commit': { type: 'boolean', default: false },
  },
})

function report(name, fields = {}) {
  process.stdout.write(JSON.stringify({ name, ...fields }) + '\n')
}

// kafkajs brings one assigner of its own, under a name that no other client uses: this is Kafka's range.
const range = ({ cluster }) => ({
  name: 'range',
  version: 0,
  async assign({ members }) {
    const given = Object.fromEntries(members.map(({ memberId }) => [memberId, {}]))
    const subscribers = {}
    for (const { memberId, memberMetadata } of members) {
      for (const topic of MemberMetadata.decode(memberMetadata).topics) {
        ;(subscribers[topic] ??= []).push(memberId)
      }
    }
    for (const [topic, ids] of Object.entries(subscribers)) {
      await cluster.addTargetTopic(topic)
      const partitions = cluster.findTopicPartitionMetadata(topic).map(each => each.partitionId).sort((a, b) => a - b)
      const share = Math.floor(partitions.length / ids.length)
      const larger = partitions.length % ids.length
      ids.sort().forEach((id, index) => {
        const start = share * index + Math.min(index, larger)
        given[id][topic] = partitions.slice(start, start + share + (index < larger ? 1 : 0))
      })
    }
    return Object.entries(given).map(([memberId, assignment]) => ({
      memberId,
      memberAssignment: MemberAssignment.encode({ version: 0, assignment }),
    }))
  },
  protocol({ topics }) {
    return { name: 'range', metadata: MemberMetadata.encode({ version: 0, topics }) }
  },
})

async function main() {
  const timeout = Number(options['session-timeout'])
  const kafka = new Kafka({
    brokers: options.bootstrap.split(','),
    clientId: 'kafkajs',
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 100 },
  })
  const consumer = kafka.consumer({
    groupId: options.group,
    partitionAssigners: [range],
    sessionTimeout: timeout,
    heartbeatInterval: timeout / 10,
    rebalanceTimeout: 10000,
    maxWaitTimeInMs: 100,
    allowAutoTopicCreation: false,
  })
  let owned = []
  const places = partitions => partitions.map(partition => ({ topic: options.topic, partition }))
  const own = partitions => {
    if (owned.length) report('partitions_revoked', { partitions: places(owned) })
    owned = partitions
    if (owned.length) report('partitions_assigned', { partitions: places(owned) })
  }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => own(payload.memberAssignment[options.topic] ?? []))
  consumer.on(consumer.events.REBALANCING, () => own([]))
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    own([])
    report('crash', { error: String(payload.error) })
  })
  let stopping = false
  process.on('SIGTERM', async () => {
    if (stopping) return
    stopping = true
    await consumer.disconnect()
    report('shutdown_complete')
    process.exit(0)
  })
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  await consumer.run({
    autoCommit: options['auto-commit'],
    eachBatchAutoResolve: true,
    eachBatch: async ({ batch }) => {
      const { topic, partition } = batch
      const minOffset = Number(batch.firstOffset())
      const maxOffset = Number(batch.lastOffset())
      const count = batch.messages.length
      report('records_consumed', { count, partitions: [{ topic, partition, count, minOffset, maxOffset }] })
      if (options['auto-commit']) return
      try {
        await consumer.commitOffsets([{ topic, partition, offset: String(maxOffset + 1) }])
        report('offsets_committed', { offsets: [{ topic, partition, offset: maxOffset + 1 }], success: true })
      } catch (error) {
        report('offsets_committed', { offsets: [], success: false, error: String(error) })
        throw error
      }
    },
  })
}

main().catch(error => {
  report('failed', { error: String(error) })
  process.exit(1)
})
