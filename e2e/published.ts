import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { query } from "./query.ts";
import type { TestStack } from "./stack.ts";

/** The events that the service of a subject appended on it, and on those that begin so, in their order. */
export async function publishedOn<S extends DescMessage>(
  { database }: Pick<TestStack, "database">,
  subject: string,
  schema: S,
): Promise<MessageShape<S>[]> {
  const rows = await query<{ payload: Buffer }>(
    database,
    `select payload from ${subject.split(".")[1]}.outbox where subject like '${subject}%' order by id`,
  );
  return rows.map(({ payload }) => fromBinary(schema, payload));
}
