import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Bytes a second, on average, at which a client has to take an answer once it has had the time to begin. */
const RATE_MIN = 4_096;
const BEGINNING_MS = 10_000;
const CHECK_EVERY_MS = 2_000;

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** The request of a connection that is worked on, and those that were pipelined behind it. */
interface Turn {
  current: Exchange;
  waiting: Exchange[];
  /** Since when bytes wait for the client, and how many had been sent by then. Undefined while none wait. */
  slow?: { sinceMs: number; bytesSent: number } | undefined;
}

export interface OneByOne {
  /** In place of the listener that was given. */
  listener: RequestListener;
  /** The request of the connection that is being answered. */
  current(socket: Socket): Exchange | undefined;
}

/**
 * Hands the requests of a connection to `listener` one after the other: the next one when the answer before it is sent.
 * While pipelined requests wait (RFC 9112, 9.3.2), the connection is not read; when it closes, they are dropped. A client
 * that takes its answer more slowly than 4 kB a second loses the connection.
 */
export function oneByOne(listener: RequestListener): OneByOne {
  const turns = new Map<Socket, Turn>();
  let check: NodeJS.Timeout | undefined;

  const begin = (turn: Turn, exchange: Exchange) => {
    const { request, response } = exchange;
    const { socket } = request;
    turn.current = exchange;
    response.once("close", () => next(socket, turn));
    listener(request, response);
  };
  const next = (socket: Socket, turn: Turn) => {
    const following = turn.waiting.shift();
    if (following && !socket.destroyed) return begin(turn, following);
    turns.delete(socket);
    if (!socket.destroyed) socket.resume();
  };
  const closeSlow = () => {
    for (const [socket, turn] of turns) if (isTooSlow(socket, turn)) socket.destroy();
    if (turns.size > 0) return;
    clearInterval(check);
    check = undefined;
  };
  return {
    listener(request, response) {
      const { socket } = request;
      const exchange = { request, response };
      const busy = turns.get(socket);
      if (busy) {
        busy.waiting.push(exchange);
        socket.pause();
        return;
      }
      const turn: Turn = { current: exchange, waiting: [] };
      turns.set(socket, turn);
      check ??= setInterval(closeSlow, CHECK_EVERY_MS).unref();
      begin(turn, exchange);
    },
    current: (socket) => turns.get(socket)?.current,
  };
}

function isTooSlow(socket: Socket, turn: Turn): boolean {
  const bytesSent = socket.bytesWritten - socket.writableLength;
  if (socket.writableLength === 0) turn.slow = undefined;
  else turn.slow ??= { sinceMs: performance.now(), bytesSent };
  if (!turn.slow) return false;
  const elapsedMs = performance.now() - turn.slow.sinceMs;
  return bytesSent - turn.slow.bytesSent < (RATE_MIN * (elapsedMs - BEGINNING_MS)) / 1_000;
}
