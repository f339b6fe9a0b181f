#!/bin/sh
# Makes the segment files of this directory anew with Apache Kafka 2.8.2, the last line that writes versions 0 and 1.
# Needs Java 17, Maven and a Python with kafka-python (`.venv/bin/python`); see README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-$(mktemp -d)}
python=${PYTHON:-python}
cd "$work"
if [ ! -d lib ]; then
  cat > pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>odradek.tests</groupId><artifactId>old-kafka</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>2.8.2</version>
</dependency></dependencies></project>
POM
  mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib
fi
rm -rf zk data
cat > zk.properties <<EOF
dataDir=$work/zk
clientPort=23181
admin.enableServer=false
EOF
cat > server.properties <<EOF
broker.id=0
listeners=PLAINTEXT://127.0.0.1:23092
zookeeper.connect=127.0.0.1:23181
log.dirs=$work/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
log.index.interval.bytes=100
controlled.shutdown.enable=false
EOF
cat > log4j.properties <<EOF
log4j.rootLogger=ERROR, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%p %c{1} %m%n
EOF
run() { exec java -Xmx256m -cp "lib/*" -Dlog4j.configuration="file:$work/log4j.properties" "$@"; }
run org.apache.zookeeper.server.quorum.QuorumPeerMain zk.properties > zk.out 2>&1 &
zk=$!
run kafka.Kafka server.properties > kafka.out 2>&1 &
kafka=$!
trap 'kill $kafka $zk 2>/dev/null || true' EXIT
"$python" "$here/produce.py" 127.0.0.1:23092
kill $kafka
wait $kafka || true
rm -f "$here"/*/*.log "$here"/*/*.index "$here"/*/*.timeindex
for directory in data/v*-0; do
  topic=$(basename "$directory" -0)
  mkdir -p "$here/$topic"
  cp "$directory"/*.log "$directory"/*.index "$directory"/*.timeindex "$here/$topic/"
  (run kafka.tools.DumpLogSegments --deep-iteration --print-data-log --files "$directory/00000000000000000000.log") |
    grep -v '^Dumping' > "$here/$topic/dump.txt"
done
