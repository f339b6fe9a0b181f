"""Configuration: Kafka's keys, what they mean, and what is in force.

    tables/        every key of Kafka 4.3 as data: type, default, valid values, what it does, whether it is served
    definitions    the tables as typed definitions; values and rules: texts, types, ranges
    loading        server.properties and --override to BrokerSettings (settings, node, listeners, reading, properties)
    topic          TopicConfig: a topic's overrides over the broker's keys over Kafka's defaults
    layers         static, dynamic for all brokers, dynamic for one: who wins, which keys stand in for which
    effective      the content of DescribeConfigs answers
    providers      values that stand elsewhere (${file:...})
    exposure       what a configuration leaves open
    tls, sasl, authorization   the settings of one listener, and who may do what
    alter          the effect of AlterConfigs and IncrementalAlterConfigs
    example        makes server.properties.example; reference makes docs/configuration.md

Imports nothing of the other packages, opens no file but the one it is given, logs nothing: errors are ConfigError, what
else should be said is returned.
"""
