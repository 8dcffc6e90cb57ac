import { create } from "@bufbuild/protobuf";
import { type Tag, TagSchema } from "@tidings/proto/tidings/contact/v1/tag";
import type { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import type { Handlers } from "@tidings/rpc/definition";
import { denied, invalid, notFound } from "@tidings/rpc/fault";
import { faultToStatus } from "@tidings/rpc/fault-status";

export type TagHandlers = Handlers<typeof TagService>;

/** `bad` is refused as a text; tag 13 may not be deleted. */
export function tagHandlers(tags: Map<number, Tag>): TagHandlers {
  const check = (tag: Tag | undefined) => {
    if (!tag?.tag || tag.tag === "bad") throw invalid([{ field: "tag", message: "A value is required." }]);
  };
  const find = (id: number): Tag => tags.get(id) ?? fail();
  const fail = (): never => {
    throw notFound();
  };
  const add = (tag: Tag | undefined) => {
    check(tag);
    const known = [...tags.values()].find((other) => other.tag === tag?.tag);
    if (known) return { tag: known, created: false };
    const id = Math.max(0, ...tags.keys()) + 1;
    const added = create(TagSchema, { id, tag: tag?.tag ?? "" });
    if (tag?.description !== undefined) added.description = tag.description;
    tags.set(id, added);
    return { tag: added, created: true };
  };
  const change = (id: number, tag: Tag | undefined, allowMissing: boolean) => {
    if (!tags.has(id) && allowMissing) return add(tag);
    const before = find(id);
    if (tag?.tag === "bad") check(tag);
    const changed = create(TagSchema, { ...before, ...(tag?.tag && { tag: tag.tag }) });
    tags.set(id, changed);
    return { tag: changed, created: false };
  };
  const remove = (id: number): Tag => {
    const before = find(id);
    if (id === 13) throw denied();
    tags.delete(id);
    return before;
  };
  return {
    getTag: ({ id }) => find(id),
    listTags: ({ query }) => {
      if (query && query.ids.length > 0) return { tags: query.ids.flatMap((id) => tags.get(id) ?? []) };
      const all = [...tags.values()].reverse();
      const page = all.slice(query?.skip, (query?.skip ?? 0) + (query?.pageSize ?? 0));
      const totalSize = query?.skipTotal ? 0 : all.length;
      return query?.idsOnly ? { ids: page.map(({ id }) => id), totalSize } : { tags: page, totalSize };
    },
    createTag: ({ tag }) => add(tag),
    updateTag: ({ id, tag, allowMissing }) => change(id, tag, allowMissing),
    deleteTag: ({ id }) => remove(id),
    batchCreateTags: ({ requests }) => each(requests, ({ tag }) => add(tag)),
    batchUpdateTags: ({ requests }) =>
      each(requests, ({ id, tag, allowMissing }) => change(id, tag, allowMissing)),
    batchDeleteTags: ({ ids }) => each(ids, (id) => ({ tag: remove(id), created: false })),
  };
}

/** A batch: each item has its own outcome. */
function each<T>(items: T[], work: (item: T) => { tag: Tag; created: boolean }) {
  const outcomes = items.map((item) => {
    try {
      const { tag, created } = work(item);
      return { tag, status: { created } };
    } catch (error) {
      return { tag: create(TagSchema), status: { error: faultToStatus(error as never) } };
    }
  });
  return { tags: outcomes.map(({ tag }) => tag), statuses: outcomes.map(({ status }) => status) };
}
