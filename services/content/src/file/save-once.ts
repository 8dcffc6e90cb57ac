import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import { backgroundDeadline } from "@tidings/database/database";
import type { AnswerOnce } from "@tidings/rpc/idempotency";
import { KEY_HEADERS } from "@tidings/rpc/transfer";
import type { Arrived } from "./arrival.ts";

/** The answer to an upload, as JSON. */
export interface Saved {
  answer: string;
  /** Is it the answer to an earlier upload, whose bytes are kept? */
  isReplayed: boolean;
}

/** Runs `save`, which writes the rows of an upload and answers JSON: once for each idempotency key. */
export type SaveOnce = (arrived: Arrived, save: () => Promise<string>) => Promise<Saved>;

/** Reads the key that the gateway passed on. Name and bytes of the file are a part of what it stands for. */
export function saveOnce({ headers }: IncomingMessage, answerOnce: AnswerOnce): SaveOnce {
  const [secret, request] = [headers[KEY_HEADERS.secret], headers[KEY_HEADERS.fingerprint]];
  if (typeof secret !== "string" || typeof request !== "string")
    return async (_arrived, save) => ({ answer: await save(), isReplayed: false });
  return async ({ path, name }, save) => {
    const digest = createHash("sha256").update(JSON.stringify([request, name]));
    await pipeline(createReadStream(path), digest);
    const { answer, isReplayed } = await answerOnce(
      {
        secret: Buffer.from(secret, "base64url"),
        fingerprint: digest.digest(),
        method: "upload",
        deadlineMs: backgroundDeadline(),
      },
      async () => Buffer.from(await save()),
    );
    return { answer: Buffer.from(answer).toString(), isReplayed };
  };
}
