import { createServer } from "node:http";

/**
 * Loaded into a process before its program (`--import`): measures how much processor time the main thread takes between two turns of its
 * event loop. Other work on the machine delays a process, but does not make it take more processor time.
 */

const TICK_MS = 1;

let longest = 0;
let before = process.threadCpuUsage();

setInterval(() => {
  const now = process.threadCpuUsage();
  longest = Math.max(longest, now.user + now.system - before.user - before.system);
  before = now;
}, TICK_MS).unref();

/** Answers the longest time in microseconds since the last answer. */
const server = createServer((_request, response) => {
  // The turn that this request came in is over by then.
  setTimeout(() => {
    response.end(String(longest));
    longest = 0;
  }, 2 * TICK_MS);
});
server.listen(Number(process.env.LOOP_PROBE_PORT), "127.0.0.1").unref();
