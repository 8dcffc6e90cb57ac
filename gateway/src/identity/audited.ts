import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Transaction } from "@tidings/database/transaction";
import { columnsOf, readField } from "@tidings/resource/columns";
import type { Repository } from "@tidings/resource/repository-options";
import type { Resource } from "@tidings/resource/resource";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import { appendAudit } from "./audit.ts";

export type Single<T extends Resource> = Pick<Repository<T>, "get" | "create" | "update" | "delete">;

/** The operations on a single row of a repository, each change noted in the audit of the transaction it is part of. */
export function audited<T extends Resource>(
  repository: Repository<T>,
  { transaction, schema, objectType }: { transaction: Transaction; schema: DescMessage; objectType: string },
): Single<T> {
  const note = async (
    action: string,
    { id }: T,
    before: T | undefined,
    after: T | undefined,
    { actor }: Call,
  ) => {
    const details = difference(schema, before, after);
    if (Object.keys(details).length === 0) return;
    const entry = { action, actor, clientIp: undefined, objectType, objectId: String(id), details };
    await appendAudit(transaction, [entry]);
  };
  return {
    get: repository.get,
    async create(message, call) {
      const saved = await repository.create(message, call);
      await note("create", saved.item, undefined, saved.item, call);
      return saved;
    },
    async update(update, call) {
      const before = await findById(repository, update.id, call);
      const saved = await repository.update(update, call);
      await note(saved.created ? "create" : "update", saved.item, before, saved.item, call);
      return saved;
    },
    async delete(id, call) {
      const item = await repository.delete(id, call);
      await note("delete", item, item, undefined, call);
      return item;
    },
  };
}

/** The row, or undefined when the caller knows of none. */
async function findById<T extends Resource>(
  repository: Pick<Repository<T>, "get">,
  id: number,
  call: Call,
): Promise<T | undefined> {
  try {
    return await repository.get(id, call);
  } catch (error) {
    if (error instanceof Fault && error.code === Code.NOT_FOUND) return undefined;
    throw error;
  }
}

type Difference = Record<string, [before: unknown, after: unknown]>;

/** Columns that callers set and that are not the same, with both values. */
function difference(
  schema: DescMessage,
  before: Message | undefined,
  after: Message | undefined,
): Difference {
  const changes = columnsOf(schema)
    .filter(({ outputOnly }) => !outputOnly)
    .map((column): [string, [unknown, unknown]] => {
      const valueIn = (message: Message | undefined) => {
        const value = message && readField(message, column);
        return value === undefined ? null : column.toJson(value as never);
      };
      return [column.name, [valueIn(before), valueIn(after)]];
    });
  return Object.fromEntries(changes.filter(([, [from, to]]) => JSON.stringify(from) !== JSON.stringify(to)));
}
