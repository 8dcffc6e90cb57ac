import assert from "node:assert/strict";
import { MULTIPART, multipart, type Part } from "./multipart.ts";
import { type RawAnswer, sendRaw } from "./raw-http.ts";
import { ADMINISTRATOR } from "./stack.ts";

export interface Login {
  username: string;
  password: string;
}

export function authorizationOf({ username, password }: Login): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** Sends forms with files to a path below `/api/`. */
export function uploader(baseUrl: string, login: Login = ADMINISTRATOR) {
  const send = (path: string, body: Buffer | string, headers: Record<string, string> = {}) =>
    sendRaw(baseUrl, {
      method: "POST",
      path: `/api/${path}`,
      headers: { authorization: authorizationOf(login), "content-type": MULTIPART, ...headers },
      body,
    });
  const form = (path: string, ...parts: Part[]): Promise<RawAnswer> => send(path, multipart(...parts));
  return {
    send,
    form,
    /** Uploads a file and answers what it is called now. */
    async file(directory: string, filename: string, content: Buffer | string) {
      const answer = await form(`files/${directory}/new`, { filename, content });
      assert.equal(answer.status, 200, answer.text);
      return JSON.parse(answer.text).file as { name: string; link?: string };
    },
  };
}
