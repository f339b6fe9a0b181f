// A client with kafkajs that logs in, produces a record and reads it again.
'use strict'

const { parseArgs } = require('node:util')
const { Kafka, logLevel } = require('kafkajs')

const text = { type: 'string' }
const { values: options } = parseArgs({ options: { bootstrap: text, topic: text, mechanism: text, user: text } })

const password = process.env.PASSWORD
const proof = options.mechanism === 'OAUTHBEARER'
  ? { oauthBearerProvider: async () => ({ value: password }) }
  : { username: options.user, password }

async function main() {
  const kafka = new Kafka({
    brokers: [options.bootstrap],
    sasl: { mechanism: options.mechanism.toLowerCase(), ...proof },
    logLevel: logLevel.NOTHING,
    retry: { retries: 1 },
  })
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: options.topic, messages: [{ value: 'x' }] })
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: `group-${options.topic}` })
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  await new Promise(resolve => consumer.run({ eachMessage: async () => resolve() }))
  console.log('read')
  process.exit(0)
}

main().catch(error => {
  console.error(error.message)
  process.exit(1)
})
