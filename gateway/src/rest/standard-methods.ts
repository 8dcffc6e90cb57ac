import type { DescField, DescMessage, DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import type { ItemStatus } from "@tidings/proto/tidings/type/v1/batch";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Outgoing, RpcClient } from "@tidings/rpc/client";

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

export interface BatchAnswer {
  items: Message[];
  statuses: ItemStatus[];
}

/** The standard methods (AIP-131 to AIP-135, 231 to 235) of any resource, whatever its messages are called. */
export interface StandardMethods {
  resource: DescMessage;
  get(id: number, outgoing: Outgoing): Promise<Message>;
  list(query: ListQuery, outgoing: Outgoing): Promise<{ items: Message[]; totalSize: number; ids: number[] }>;
  create(message: Message, outgoing: Outgoing): Promise<Saved>;
  update(item: UpdateItem, outgoing: Outgoing): Promise<Saved>;
  delete(id: number, outgoing: Outgoing): Promise<Message>;
  batchCreate(messages: Message[], outgoing: Outgoing): Promise<BatchAnswer>;
  batchUpdate(items: UpdateItem[], outgoing: Outgoing): Promise<BatchAnswer>;
  batchDelete(ids: number[], outgoing: Outgoing): Promise<BatchAnswer>;
}

type Fields = Record<string, never>;

/** Finds the methods by their names and the fields by their types, once, when the routes are mounted. */
export function standardMethods(service: DescService, client: RpcClient<DescService>): StandardMethods {
  const get = methodNamed(service, /^Get/);
  const list = methodNamed(service, /^List\w+s$/, (method) => hasList(method.output, get.output));
  const create = methodNamed(service, /^Create/);
  const update = methodNamed(service, /^Update/);
  const remove = methodNamed(service, /^Delete/);
  const batchCreate = methodNamed(service, /^BatchCreate/);
  const batchUpdate = methodNamed(service, /^BatchUpdate/);
  const batchDelete = methodNamed(service, /^BatchDelete/);
  const resource = get.output;
  const sent = fieldOf(create.input, resource).localName;
  const listed = fieldOf(list.output, resource).localName;
  const saved = fieldOf(create.output, resource).localName;
  const batched = fieldOf(batchCreate.output, resource).localName;

  // Which message a method takes is known from its descriptor and not to the compiler: the one place that says so.
  const call = async (method: DescMethod, request: object, outgoing: Outgoing): Promise<Fields> => {
    const methods = client as unknown as Record<
      string,
      (request: object, outgoing: Outgoing) => Promise<Fields>
    >;
    const function_ = methods[method.localName];
    if (!function_) throw new Error(`${method.name} has no client`);
    return function_(request, outgoing);
  };
  const updateRequest = ({ message, ...rest }: UpdateItem) => ({ ...rest, [sent]: message });
  const savedOf = (answer: Fields): Saved => ({
    item: answer[saved] as unknown as Message,
    created: answer.created ?? false,
    ignored: answer.ignored ?? [],
  });
  const batchOf = (answer: Fields): BatchAnswer => ({
    items: answer[batched] ?? [],
    statuses: answer.statuses ?? [],
  });

  return {
    resource,
    get: async (id, outgoing) => (await call(get, { id }, outgoing)) as unknown as Message,
    list: async (query, outgoing) => {
      const answer = await call(list, { query }, outgoing);
      return { items: answer[listed] ?? [], totalSize: answer.totalSize ?? 0, ids: answer.ids ?? [] };
    },
    create: async (message, outgoing) => savedOf(await call(create, { [sent]: message }, outgoing)),
    update: async (item, outgoing) => savedOf(await call(update, updateRequest(item), outgoing)),
    delete: async (id, outgoing) => (await call(remove, { id }, outgoing)) as unknown as Message,
    batchCreate: async (messages, outgoing) => {
      const requests = messages.map((message) => ({ [sent]: message }));
      return batchOf(await call(batchCreate, { requests }, outgoing));
    },
    batchUpdate: async (items, outgoing) => {
      return batchOf(await call(batchUpdate, { requests: items.map(updateRequest) }, outgoing));
    },
    batchDelete: async (ids, outgoing) => batchOf(await call(batchDelete, { ids }, outgoing)),
  };
}

function methodNamed(service: DescService, name: RegExp, suits = (_method: DescMethod) => true): DescMethod {
  const method = service.methods.find((candidate) => name.test(candidate.name) && suits(candidate));
  if (!method) throw new Error(`${service.typeName} has no method ${name}`);
  return method;
}

function hasList(message: DescMessage, item: DescMessage): boolean {
  return message.fields.some((field) => field.fieldKind === "list" && field.message === item);
}

function fieldOf(message: DescMessage, type: DescMessage): DescField {
  const field = message.fields.find((candidate) => "message" in candidate && candidate.message === type);
  if (!field) throw new Error(`${message.typeName} has no field of type ${type.typeName}`);
  return field;
}
