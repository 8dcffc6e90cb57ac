import type { DescMessage, DescMethodUnary, DescService, Message, MessageShape } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { statusToFault } from "@tidings/rpc/fault-status";
import { standardOf } from "@tidings/rpc/standard";
import type { BatchResult, Repository, Saved, Update } from "./repository-options.ts";
import type { Resource } from "./resource.ts";

type Names<S extends DescService> = keyof S["method"] & string;
type Noun<N> = N extends `update${infer Rest}` ? Rest : never;
type Plural<N> = N extends `batchUpdate${infer Rest}` ? Rest : never;
type StandardName<N> =
  | `${"get" | "create" | "update" | "delete"}${Noun<N>}`
  | `${"list" | "batchCreate" | "batchUpdate" | "batchDelete"}${Plural<N>}`;

/** The standard methods among those of a service. */
export type StandardHandlers<S extends DescService> = Pick<
  Handlers<S>,
  StandardName<Names<S>> & keyof Handlers<S>
>;

/** The response of a service's `Get<Resource>`. */
export type ResourceOf<S extends DescService> =
  S["method"][`get${Noun<Names<S>>}`] extends DescMethodUnary<DescMessage, infer O> ? MessageShape<O> : never;

/** A request of a standard method: which member holds the resource depends on the resource. */
type Fields = Record<string, unknown>;
type Request = Message & Fields;

/**
 * The standard methods of a service, answered by what keeps its resources. A service that does one of them in another way
 * writes that one beside them: `{...standardHandlers(TagService, tags), createTag: …}`.
 */
export function standardHandlers<S extends DescService, T extends Resource & ResourceOf<S>>(
  service: S,
  repository: Repository<T>,
): StandardHandlers<S> {
  const standard = standardOf(service);
  const { one, many } = standard;
  const messageOf = (request: Fields) => request[one] as T | undefined;
  const updateOf = (request: Fields): Update<T> => ({
    id: request.id as number,
    message: messageOf(request),
    updateMask: request.updateMask as FieldMask | undefined,
    allowMissing: request.allowMissing as boolean,
  });
  const requestsOf = ({ requests }: Fields) => requests as Fields[];
  const savedOf = ({ item, created }: Saved<T>) => ({ [one]: item, created });
  const batchOf = ({ items, statuses }: BatchResult<T>) => ({ [many]: items, statuses });
  const handlers: Record<string, (request: Request, call: Call) => Promise<object>> = {
    [standard.get.localName]: ({ id }, call) => repository.get(id as number, call),
    [standard.list.localName]: async ({ query }, call) => {
      const { items, totalSize, ids } = await repository.list(query as ListQuery | undefined, call);
      return { [many]: items, totalSize, ids };
    },
    [standard.create.localName]: async (request, call) =>
      savedOf(await repository.create(messageOf(request), call)),
    [standard.update.localName]: async (request, call) =>
      savedOf(await repository.update(updateOf(request), call)),
    [standard.delete.localName]: ({ id }, call) => repository.delete(id as number, call),
    [standard.batchCreate.localName]: async (request, call) =>
      batchOf(await repository.batchCreate(requestsOf(request).map(messageOf), call)),
    [standard.batchUpdate.localName]: async (request, call) =>
      batchOf(await repository.batchUpdate(requestsOf(request).map(updateOf), call)),
    [standard.batchDelete.localName]: async ({ ids }, call) =>
      batchOf(await repository.batchDelete(ids as number[], call)),
  };
  // Names and members come from the descriptor, from which the type is made as well: the compiler cannot see the link.
  return handlers as unknown as StandardHandlers<S>;
}

/** The outcome of a batch of one. Throws why it failed. */
export function onlyOf<T extends Resource>({ items, statuses }: BatchResult<T>): Saved<T> {
  const [item] = items;
  const [status] = statuses;
  if (status?.error) throw statusToFault(status.error);
  if (!item || !status) throw new Error("a batch of one has one outcome");
  return { item, created: status.created };
}
