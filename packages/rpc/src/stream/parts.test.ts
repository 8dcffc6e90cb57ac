import assert from "node:assert/strict";
import { test } from "node:test";
import { inlet, MESSAGE_BYTES_MAX, outlet, type Part } from "./parts.ts";

/** An outlet whose frames are taken one at a time, as a slow peer does. */
function slowOutlet() {
  const frames: Part[][] = [];
  let next: () => void = () => undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const write = (parts: Part[], done: () => void) => {
    frames.push(parts);
    next = done;
  };
  const out = outlet({ write, end }, (id, message, more) => ({ id, message, more }));
  return { out, frames, ended, next: () => next() };
}

const turn = () => new Promise(setImmediate);
const message = (id: number, length: number): Part => ({
  id,
  message: new Uint8Array(length).fill(id),
  more: false,
});

test("messages sent in one turn of the event loop go as one frame", async () => {
  const { out, frames } = slowOutlet();
  for (const id of [1, 2, 3]) out.send(message(id, 10));
  await turn();
  assert.deepEqual(
    frames.map((frame) => frame.map(({ id }) => id)),
    [[1, 2, 3]],
  );
});

test("a short message passes a long one that is on its way, and long ones take turns", async () => {
  const { out, frames, next } = slowOutlet();
  out.send(message(1, 1_000_000));
  out.send(message(2, 1_000_000));
  await turn();
  out.send(message(3, 10));
  next();
  next();
  assert.deepEqual(
    frames.map((frame) => frame.map(({ id }) => id)),
    [[1], [3, 2], [1]],
  );
});

test("a message of any length comes out as it went in, whatever goes between its parts", async () => {
  const { out, frames, ended, next } = slowOutlet();
  const lengths = [0, 1, 65_536, 65_537, 131_072, 3_000_000];
  for (const [id, length] of lengths.entries()) out.send(message(id, length));
  out.end();
  await turn();
  for (let count = 0; count < frames.length; count += 1) next();
  await ended;
  const parts = inlet<Part>();
  const whole = frames.flat().flatMap((part) => parts.take(part) ?? []);
  assert.deepEqual(
    whole.map(({ id, message }) => [id, message.length, message.every((byte) => byte === id)]).sort(),
    lengths.map((length, id) => [id, length, true]),
  );
});

test("a message that is too long is refused before all of it is there", () => {
  const parts = inlet<Part>();
  const half = new Uint8Array(MESSAGE_BYTES_MAX / 2);
  assert.equal(parts.take({ id: 1, message: half, more: true }), undefined);
  assert.equal(parts.take({ id: 1, message: half, more: true }), undefined);
  assert.throws(() => parts.take({ id: 1, message: new Uint8Array(1), more: true }), RangeError);
});
