import { membersOf } from "@tidings/resource/json-member";
import { hashOf, timeOf, wordsOf } from "../callback/read-feedback.ts";
import { REPORT_KINDS, type TextEvent } from "./text-event.ts";

const CODE = /^\d{1,9}$/;

/** `{"event", "hash", "address", "reason", "code", "time", "id"}`; of a reply `{"event": "reply", "address", "text", "time", "id"}`. */
export function readGenericText(item: unknown): TextEvent[] | undefined {
  const { event, hash: named, address: number, reason, code, time, id: name, text } = membersOf(item);
  const [at, id, address] = [timeOf(time), wordsOf(name), wordsOf(number)];
  if (at === undefined) return undefined;
  if (event === "reply")
    return address === "" || typeof text !== "string"
      ? undefined
      : [{ kind: "reply", id, at, address, text, asked: undefined }];
  const kind = REPORT_KINDS.find((known) => known === event);
  const hash = hashOf(named);
  if (!kind || (hash === undefined && address === "")) return undefined;
  const said = wordsOf(code);
  return [
    { kind, id, at, hash, address, code: CODE.test(said) ? Number(said) : undefined, text: wordsOf(reason) },
  ];
}
