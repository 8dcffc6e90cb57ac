// A mail server that takes every mail and keeps none: it is to cost little beside the senders that are measured.
import type { AddressInfo, Socket } from "node:net";
import { leanMailServer } from "@tidings/testkit/lean-mail-server";

/** A request of the bench. */
export type SinkRequest =
  /** Report the time at which so many more mails are taken. */
  | { count: number }
  /** Report each mail to these addresses. */
  | { addresses: string[] }
  /** Take nothing more until the next request says otherwise. */
  | { isHolding: boolean };

/** Times are in milliseconds since 1970. */
export type SinkReport = { countedAt: number; octets: number } | { address: string; takenAt: number };

const sockets = new Set<Socket>();
let watched: ReadonlySet<string> = new Set();
let countedIn = Number.POSITIVE_INFINITY;
/** Octets of the connections that are closed. */
let octetsBefore = 0;
let octetsAtStart = 0;
let isHolding = false;

const server = leanMailServer({
  octetsMax: 0,
  onMail({ recipients }) {
    const now = performance.timeOrigin + performance.now();
    countedIn -= 1;
    if (countedIn === 0) report({ countedAt: now, octets: octets() - octetsAtStart });
    for (const address of recipients) if (watched.has(address)) report({ address, takenAt: now });
  },
});
server.on("connection", (socket) => {
  sockets.add(socket);
  socket.once("close", () => {
    octetsBefore += socket.bytesRead;
    sockets.delete(socket);
  });
  if (isHolding) socket.pause();
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once("disconnect", () => process.exit(0));
process.on("message", (request: SinkRequest) => {
  if ("count" in request) {
    countedIn = request.count;
    octetsAtStart = octets();
  }
  if ("addresses" in request) watched = new Set(request.addresses);
  if ("isHolding" in request) {
    isHolding = request.isHolding;
    for (const socket of sockets) isHolding ? socket.pause() : socket.resume();
  }
});

/** Octets of all connections. */
function octets(): number {
  return [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, octetsBefore);
}

function report(report: SinkReport): void {
  process.send?.(report);
}
