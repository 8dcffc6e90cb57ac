import type { DescMessage, DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import type { ItemStatus } from "@tidings/proto/tidings/type/v1/batch";
import { type FormedJson, FormedJsonSchema } from "@tidings/proto/tidings/type/v1/formed_json";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Outgoing, RpcClient } from "@tidings/rpc/client";
import { shareForm } from "@tidings/rpc/formed-json";
import { standardOf } from "@tidings/rpc/standard";

export interface UpdateItem {
  id: number;
  message: Message;
  updateMask: Pick<FieldMask, "paths">;
  allowMissing: boolean;
}

export interface Saved {
  item: Message;
  created: boolean;
  /** Members of the body that its service knows nothing of. */
  ignored: string[];
}

export interface Listed {
  items: Message[];
  totalSize: number;
  ids: number[];
}

export interface BatchAnswer {
  items: Message[];
  statuses: ItemStatus[];
}

/** The standard methods (AIP-131 to AIP-135, 231 to 235) of any resource, whatever its messages are called. */
export interface StandardMethods {
  resource: DescMessage;
  /** The RPC behind each operation, which declares the right that it needs. */
  rpc: ReturnType<typeof standardOf>;
  get(id: number, outgoing: Outgoing): Promise<Message>;
  list(query: ListQuery, outgoing: Outgoing): Promise<Listed>;
  create(message: Message, outgoing: Outgoing): Promise<Saved>;
  update(item: UpdateItem, outgoing: Outgoing): Promise<Saved>;
  delete(id: number, outgoing: Outgoing): Promise<Message>;
  batchCreate(messages: Message[], outgoing: Outgoing): Promise<BatchAnswer>;
  batchUpdate(items: UpdateItem[], outgoing: Outgoing): Promise<BatchAnswer>;
  batchDelete(ids: number[], outgoing: Outgoing): Promise<BatchAnswer>;
}

type Fields = Record<string, unknown>;
type Methods = Record<string, (request: Fields, outgoing: Outgoing) => Promise<Fields>>;

/** Gives the messages of one answer the form that came with the first of them. */
function formSharing(resource: DescMessage): (items: Message[]) => Message[] {
  const members = resource.fields.filter(({ message }) => message === FormedJsonSchema);
  return (items) => {
    for (const { localName } of members)
      shareForm(items.map((item) => (item as unknown as Record<string, FormedJson | undefined>)[localName]));
    return items;
  };
}

/** The standard methods of a service, through its client. */
export function standardMethods(service: DescService, client: RpcClient<DescService>): StandardMethods {
  const standard = standardOf(service);
  const { resource, one, many } = standard;
  const formed = formSharing(resource);
  // Which message a method takes is known from its descriptor and not to the compiler: the one place that says so.
  const methods = client as unknown as Methods;
  const call = (method: DescMethod, request: Fields, outgoing: Outgoing): Promise<Fields> => {
    const function_ = methods[method.localName];
    if (!function_) throw new Error(`${method.name} has no client`);
    return function_(request, outgoing);
  };
  const updateRequest = ({ message, ...rest }: UpdateItem) => ({ ...rest, [one]: message });
  const savedOf = ({ [one]: item, created, ignored }: Fields) =>
    ({ item, created, ignored: ignored ?? [] }) as Saved;
  const batchOf = ({ [many]: items, statuses }: Fields) =>
    ({ items: formed(items as Message[]), statuses }) as BatchAnswer;
  const messageOf = (answer: Fields) => answer as unknown as Message;

  return {
    resource,
    rpc: standard,
    get: async (id, outgoing) => messageOf(await call(standard.get, { id }, outgoing)),
    list: async (query, outgoing) => {
      const { [many]: items, totalSize, ids } = await call(standard.list, { query }, outgoing);
      return { items: formed(items as Message[]), totalSize, ids } as Listed;
    },
    create: async (message, outgoing) => savedOf(await call(standard.create, { [one]: message }, outgoing)),
    update: async (item, outgoing) => savedOf(await call(standard.update, updateRequest(item), outgoing)),
    delete: async (id, outgoing) => messageOf(await call(standard.delete, { id }, outgoing)),
    batchCreate: async (messages, outgoing) => {
      const requests = messages.map((message) => ({ [one]: message }));
      return batchOf(await call(standard.batchCreate, { requests }, outgoing));
    },
    batchUpdate: async (items, outgoing) =>
      batchOf(await call(standard.batchUpdate, { requests: items.map(updateRequest) }, outgoing)),
    batchDelete: async (ids, outgoing) => batchOf(await call(standard.batchDelete, { ids }, outgoing)),
  };
}
