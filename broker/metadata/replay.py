"""Applying metadata records to an image.

Owns: what each record does. Must not know: framing, files. Pure: an image and records in, an image and what changed
out; the old image is untouched and shares what did not change with the new one. Effects follow Kafka's own image
(`MetadataDelta`, KIP-631). Transactions are undone before: see `transactions`.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from odradek.broker.metadata.acls import AclDraft
from odradek.broker.metadata.client_quotas import QuotaDrafts
from odradek.broker.metadata.delegation_tokens import DelegationToken, apply_token
from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.features import check_level
from odradek.broker.metadata.image import (
    BrokerImage,
    ConfigResource,
    ImageDelta,
    MetadataImage,
    ResourceType,
    TopicImage,
)
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.registrations import apply_registration
from odradek.broker.metadata.scram import ScramKey, apply_scram
from odradek.broker.metadata.topic_drafts import TopicDrafts
from odradek.protocol.messages import metadata_records as messages
from odradek.protocol.scram_values import ScramCredential

K = TypeVar("K")
V = TypeVar("V")


def apply(
    image: MetadataImage, records: Iterable[MetadataRecord], offset: int, epoch: int
) -> tuple[MetadataImage, ImageDelta]:
    """Return the image after the records, which end before `offset`, and what is different in it.

    Raises CorruptMetadataError if a record speaks of something that is not there or must not be.
    """
    builder = ImageBuilder(image)
    for record in records:
        builder.apply(record)
    return builder.finish(offset, epoch)


class ImageBuilder:
    """Collects the effects of records on an image, and makes the next image of them in one go."""

    def __init__(self, base: MetadataImage) -> None:
        self._base = base
        self._topics = TopicDrafts(base)
        self._configs: dict[ConfigResource, dict[str, str]] = {}
        self._features: dict[str, int] | None = None
        self._brokers: dict[int, BrokerImage] | None = None
        self._acls: AclDraft | None = None
        self._scram: dict[ScramKey, ScramCredential] | None = None
        self._client_quotas = QuotaDrafts(base.client_quotas)
        self._tokens: dict[str, DelegationToken] | None = None
        self._kept: dict[tuple[object, ...], bytes] | None = None
        self._next_producer_id = base.next_producer_id

    def apply(self, record: MetadataRecord) -> None:
        """Take in the effect of one record."""
        match record.message:
            case messages.PartitionRecord() as message:
                self._topics.set_partition(message)
            case messages.PartitionChangeRecord() as message:
                self._topics.change_partition(message)
            case messages.TopicRecord() as message:
                self._topics.create(message)
            case messages.RemoveTopicRecord() as message:
                self._configs[ConfigResource(ResourceType.TOPIC, self._topics.delete(message))] = {}
            case messages.ClearElrRecord() as message:
                self._topics.clear_elr(message)
            case messages.ConfigRecord() as message:
                self._set_config(message)
            case messages.FeatureLevelRecord() as message:
                self._set_feature(message)
            case messages.ProducerIdsRecord() as message:
                self._next_producer_id = message.next_producer_id
            case (
                messages.RegisterBrokerRecord()
                | messages.UnregisterBrokerRecord()
                | messages.BrokerRegistrationChangeRecord()
                | messages.FenceBrokerRecord()
                | messages.UnfenceBrokerRecord() as message
            ):
                if self._brokers is None:
                    self._brokers = dict(self._base.brokers)
                apply_registration(self._brokers, message)
            case messages.AccessControlEntryRecord() | messages.RemoveAccessControlEntryRecord() as message:
                if self._acls is None:
                    self._acls = AclDraft(self._base.acls)
                self._acls.apply(message)
            case messages.UserScramCredentialRecord() | messages.RemoveUserScramCredentialRecord() as message:
                if self._scram is None:
                    self._scram = dict(self._base.scram_credentials)
                apply_scram(self._scram, message)
            case messages.ClientQuotaRecord() as message:
                self._client_quotas.apply(message)
            case messages.DelegationTokenRecord() | messages.RemoveDelegationTokenRecord() as message:
                if self._tokens is None:
                    self._tokens = dict(self._base.delegation_tokens)
                apply_token(self._tokens, message)
            case messages.NoOpRecord():
                pass
            case _:
                self._keep(record)

    def finish(self, offset: int, epoch: int) -> tuple[MetadataImage, ImageDelta]:
        """Return the new image and its difference to the one the builder started from."""
        base = self._base
        topics = self._topics.finish()
        image = MetadataImage(
            topics_by_name=topics.by_name,
            topics_by_id=topics.by_id,
            configs=self._merge_configs(),
            features=_frozen(self._features, base.features),
            brokers=_frozen(self._brokers, base.brokers),
            acls=base.acls if self._acls is None else self._acls.finish(),
            scram_credentials=_frozen(self._scram, base.scram_credentials),
            client_quotas=self._client_quotas.finish(),
            delegation_tokens=_frozen(self._tokens, base.delegation_tokens),
            kept=_frozen(self._kept, base.kept),
            next_producer_id=self._next_producer_id,
            offset=offset,
            epoch=epoch,
        )
        return image, ImageDelta(
            created_topics=topics.created,
            deleted_topics=topics.deleted,
            created_partitions=topics.created_partitions,
            changed_partitions=topics.changed_partitions,
            changed_configs=self._changed_configs(topics.created + topics.deleted),
        )

    def _set_config(self, message: messages.ConfigRecord) -> None:
        resource = ConfigResource(message.resource_type, message.resource_name)
        entries = self._configs.get(resource)
        if entries is None:
            entries = self._configs[resource] = dict(self._base.configs.get(resource, {}))
        if message.value is None:
            entries.pop(message.name, None)
        else:
            entries[message.name] = message.value

    def _set_feature(self, message: messages.FeatureLevelRecord) -> None:
        problem = check_level(message.name, message.feature_level)
        if problem:
            raise UnsupportedMetadataError(problem)
        if self._features is None:
            self._features = dict(self._base.features)
        if message.feature_level == 0:
            self._features.pop(message.name, None)
        else:
            self._features[message.name] = message.feature_level

    def _keep(self, record: MetadataRecord) -> None:
        about, gone = _about(record.message)
        if self._kept is None:
            self._kept = dict(self._base.kept)
        if gone:
            self._kept.pop(about, None)
        else:
            self._kept[about] = record.value

    def _merge_configs(self) -> Mapping[ConfigResource, Mapping[str, str]]:
        if not self._configs:
            return self._base.configs
        merged = dict(self._base.configs)
        for resource, entries in self._configs.items():
            if entries:
                merged[resource] = MappingProxyType(entries)
            else:
                merged.pop(resource, None)
        return MappingProxyType(merged)

    def _changed_configs(self, come_or_gone: tuple[TopicImage, ...]) -> frozenset[ConfigResource]:
        """Return the resources with other configs than before, topics that came or went left out."""
        left_out = {ConfigResource(ResourceType.TOPIC, topic.name) for topic in come_or_gone}
        return frozenset(
            resource
            for resource, entries in self._configs.items()
            if resource not in left_out and entries != self._base.configs.get(resource, {})
        )


def _frozen(changed: dict[K, V] | None, base: Mapping[K, V]) -> Mapping[K, V]:
    return base if changed is None else MappingProxyType(changed)


def _about(message: object) -> tuple[tuple[object, ...], bool]:
    """Return what a kept record is about, and whether it says that this is gone."""
    match message:
        case messages.RegisterControllerRecord():
            return ("controller", message.controller_id), False
    raise CorruptMetadataError(f"a {type(message).__name__} does not change the metadata")
