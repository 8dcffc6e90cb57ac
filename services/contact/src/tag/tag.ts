import { create } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import { type DomainEvent, domainEvent } from "@tidings/messaging/outbox";
import { type Tag, TagSchema } from "@tidings/proto/tidings/contact/v1/tag";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import { type ItemStatus, ItemStatusSchema } from "@tidings/proto/tidings/type/v1/batch";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { repository } from "@tidings/resource/repository";
import type { BatchResult, Repository, ResourceContext } from "@tidings/resource/repository-options";
import { placeOf } from "@tidings/resource/resource";
import { onlyOf, standardHandlers } from "@tidings/resource/standard-handlers";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { withoutEntities, withoutTags } from "@tidings/runtime/plain-text";

export function tagHandlers(context: ResourceContext): Handlers<typeof TagService> {
  const tags = repository<Tag>(context, TagSchema, {
    clean(draft) {
      draft.tag = cleanTag(draft.tag);
    },
  });
  const createOrMatch = matchingCreation(context, tags);
  return standardHandlers(TagService, {
    ...tags,
    create: async (tag, call) => onlyOf(await createOrMatch([tag], call)),
    batchCreate: createOrMatch,
  });
}

/** A tag as it is kept: its tags of HTML are gone and its entities are signs. */
export function cleanTag(text: string): string {
  return withoutEntities(withoutTags(text)).trim();
}

/** A tag that a contact brought along. */
export function tagCreated(tag: Tag): DomainEvent {
  return domainEvent(`${placeOf(TagSchema).events}.created`, { id: tag.id, version: 1 }, TagSchema, tag);
}

/** Creates the tags whose text is new. The others, and repeated ones, are answered as they are. */
function matchingCreation({ database }: ResourceContext, tags: Repository<Tag>) {
  return async (wanted: (Tag | undefined)[], call: Call): Promise<BatchResult<Tag>> => {
    const texts = wanted.map((tag) => cleanTag(tag?.tag ?? ""));
    const known = await tagsByText(texts, call);
    const firstAt = new Map(texts.map((text, index) => [text, index] as const).toReversed());
    const isNew = (text: string, index: number) => !known.has(text) && firstAt.get(text) === index;
    const made = await tags.batchCreate(
      wanted.filter((_, index) => isNew(texts[index] ?? "", index)),
      call,
    );
    // Read again: somebody else may have made one of them a moment before us.
    const present = await tagsByText(texts, call);
    const newTexts = texts.filter(isNew);
    const outcomes = new Map(newTexts.map((text, index) => [text, made.statuses[index]] as const));
    const statuses = texts.map((text, index): ItemStatus => {
      const outcome = outcomes.get(text);
      // A tag that could not be made fails at each of its places, and a new one is created at its first.
      const isTold = outcome?.error ? !present.has(text) : isNew(text, index);
      return outcome && isTold ? outcome : create(ItemStatusSchema);
    });
    return { items: texts.map((text) => present.get(text) ?? create(TagSchema)), statuses };
  };

  async function tagsByText(texts: string[], call: Call): Promise<Map<string, Tag>> {
    const rows = await database.query(idsByText, [texts], call.deadlineMs);
    const ids = rows.map(({ id }) => Number(id));
    if (ids.length === 0) return new Map();
    const { items } = await tags.list(create(ListQuerySchema, { ids }), call);
    return new Map(items.map((tag) => [tag.tag, tag]));
  }
}

const idsByText = prepared("tags_ids_by_text", "select id from tags where tag = any ($1::text[])");
