import type { DescMessage } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable } from "@tidings/database/transaction";
import { isOpen } from "../family/is-open.ts";
import { type Replays, replaysOf } from "../send/replay-sends.ts";
import type { SendLane } from "../send/run-sends.ts";
import { type ChooseTexts, textChooser } from "./choose-text.ts";
import { type RecordTexts, textRecorder } from "./record-texts.ts";
import type { TextChannel } from "./text-channel.ts";
import type { TextFacts } from "./text-facts.ts";
import { type TextSend, textLanes } from "./text-queue.ts";

/** How messages of a channel are made, chosen, claimed, recorded and tried again. */
export interface TextKind {
  channel: TextChannel;
  facts: TextFacts;
  lanes: SendLane<TextSend>[];
  choose: ChooseTexts;
  record: RecordTexts;
  replays: Replays;
  /** Entities that are published now, by their ids, with what their messages are made of. */
  openItems(queries: Pick<Queryable, "query">, ids: number[]): Promise<Map<number, Row>>;
}

/** The kind of a channel. `lane` names its lane, `written` the columns that its messages are made of, `schema` their entities. */
export function textKind({
  facts,
  lane,
  written,
  schema,
}: {
  facts: TextFacts;
  lane: string;
  written: string[];
  schema: DescMessage;
}): TextKind {
  const { channel } = facts;
  const statement = prepared(
    `${channel.items}_open_of`,
    `select ${["id", ...written].map((column) => `i.${column}`).join(", ")} from ${channel.items} i
     where i.id = any ($1::integer[]) and ${isOpen("i")}`,
  );
  return {
    channel,
    facts,
    lanes: textLanes(lane, channel),
    choose: textChooser(channel),
    record: textRecorder(facts),
    replays: replaysOf({ ...channel, kind: `${channel.name}_replay`, schema, columns: "replayed.hash" }),
    async openItems({ query }, ids) {
      const rows = await query(statement, [[...new Set(ids)]]);
      return new Map(rows.map((row) => [Number(row.id), row]));
    },
  };
}
