import { create } from "@bufbuild/protobuf";
import {
  type Tag,
  TagSchema,
  type TagService,
  type UpdateTagRequest,
} from "@tidings/proto/tidings/contact/v1/tag";
import { type ItemStatus, ItemStatusSchema } from "@tidings/proto/tidings/type/v1/batch";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import type { Violation } from "@tidings/rpc/fault";
import { statusToFault } from "@tidings/rpc/fault-status";
import { type Database, prepared } from "@tidings/store/database";
import { type DomainEvent, domainEvent, type Outbox } from "@tidings/store/outbox";
import { type BatchResult, type Repository, repository } from "@tidings/store/repository";
import { cleanTag } from "./contact/body.ts";

const EVENTS = "tidings.contact.tag";

export function tagHandlers(database: Database, outbox: Outbox): Handlers<typeof TagService> {
  const tags = repository<Tag>(database, outbox, TagSchema, {
    table: "tags",
    events: EVENTS,
    search: ["tag"],
    order: [{ column: "tag", descending: false }],
    prepare: prepareTag,
  });
  return {
    getTag: ({ id }, call) => tags.get(id, call),
    listTags: async ({ query }, call) => {
      const { items, totalSize, ids } = await tags.list(query, call);
      return { tags: items, totalSize, ids };
    },
    createTag: async ({ tag }, call) => {
      const { items, statuses } = await createOrMatch(database, tags, [tag], call);
      if (statuses[0]?.error) throw statusToFault(statuses[0].error);
      return { tag: items[0], created: statuses[0]?.created ?? false };
    },
    updateTag: async (request, call) => {
      const { item, created } = await tags.update(updateOf(request), call);
      return { tag: item, created };
    },
    deleteTag: ({ id }, call) => tags.delete(id, call),
    batchCreateTags: async ({ requests }, call) => {
      const wanted = requests.map(({ tag }) => tag);
      return batchOf(await createOrMatch(database, tags, wanted, call));
    },
    batchUpdateTags: async ({ requests }, call) =>
      batchOf(await tags.batchUpdate(requests.map(updateOf), call)),
    batchDeleteTags: async ({ ids }, call) => batchOf(await tags.batchDelete(ids, call)),
  };
}

/** A tag that a contact brought along. */
export function tagCreated(tag: Tag): DomainEvent {
  return domainEvent(`${EVENTS}.created`, { id: tag.id, version: 1 }, TagSchema, tag);
}

const LENGTH_MAX = 191;

function prepareTag(draft: Tag): Violation[] {
  draft.tag = textOf(draft);
  if (draft.tag === "") return [{ field: "tag", message: "A value is required." }];
  if (draft.tag.length <= LENGTH_MAX) return [];
  const message = `This value is too long. It should have ${LENGTH_MAX} characters or less.`;
  return [{ field: "tag", message }];
}

/** Creates the tags whose text is new. The others, and repeated ones, are answered as they are. */
async function createOrMatch(
  database: Database,
  tags: Repository<Tag>,
  wanted: (Tag | undefined)[],
  call: Call,
): Promise<BatchResult<Tag>> {
  const texts = wanted.map(textOf);
  const known = await tagsByText(database, tags, texts, call);
  const firstAt = new Map(texts.map((text, index) => [text, index] as const).toReversed());
  const isNew = (text: string, index: number) => !known.has(text) && firstAt.get(text) === index;
  const made = await tags.batchCreate(
    wanted.filter((tag, index) => isNew(textOf(tag), index)),
    call,
  );
  // Read again: somebody else may have made one of them a moment before us.
  const present = await tagsByText(database, tags, texts, call);
  const newTexts = texts.filter(isNew);
  const outcomes = new Map(newTexts.map((text, index) => [text, made.statuses[index]] as const));
  const statuses = texts.map((text, index): ItemStatus => {
    const outcome = outcomes.get(text);
    // What could not be made is told of at each of its places, what was made at the first.
    const isTold = outcome?.error ? !present.has(text) : isNew(text, index);
    return outcome && isTold ? outcome : create(ItemStatusSchema);
  });
  return { items: texts.map((text) => present.get(text) ?? create(TagSchema)), statuses };
}

const idsByText = prepared("tags_ids_by_text", "select id from tags where tag = any ($1::text[])");

async function tagsByText(
  database: Database,
  tags: Repository<Tag>,
  texts: string[],
  call: Call,
): Promise<Map<string, Tag>> {
  const rows = await database.query(idsByText, [texts], call.deadlineMs);
  const ids = rows.map(({ id }) => Number(id));
  if (ids.length === 0) return new Map();
  const { items } = await tags.list(create(ListQuerySchema, { ids }), call);
  return new Map(items.map((tag) => [tag.tag, tag]));
}

function textOf(tag: Tag | undefined): string {
  return cleanTag(tag?.tag ?? "");
}

function updateOf({ id, tag, updateMask, allowMissing }: UpdateTagRequest) {
  return { id, message: tag, updateMask, allowMissing };
}

function batchOf({ items, statuses }: BatchResult<Tag>) {
  return { tags: items, statuses };
}
