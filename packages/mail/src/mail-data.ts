import type { Transform, TransformCallback } from "node:stream";
import type SMTPConnection from "nodemailer/lib/smtp-connection";
import nodemailerPackage from "nodemailer/package.json" with { type: "json" };

/** The private part of nodemailer's connection that a mail goes through on its way to the socket. */
interface DataConnection {
  _createSendStream(callback: unknown): DataStream;
}

interface DataStream extends Transform {
  /** The octet that went before; false at the beginning. */
  lastByte: number | false;
  inByteCount: number;
  outByteCount: number;
}

const TESTED = "10.6.1";
if (nodemailerPackage.version !== TESTED)
  throw new Error(
    `Mails use private parts of nodemailer ${TESTED}, and ${nodemailerPackage.version} is installed`,
  );

const [LF, CR, DOT] = [10, 13, 46];
/** Line ends that are no CRLF, and lines that begin with a dot (RFC 5321, 4.5.2). */
const CHANGED = /\r(?!\n)|(?<!\r)\n|\n\./;

/**
 * Lets a mail pass through a connection as it is where nothing in it has to change on the way. A search finds that out in a tenth of the time that
 * nodemailer takes to look at each octet. A mail and the dot that ends it leave in one system call.
 */
export function passUnchanged(connection: SMTPConnection): void {
  const parts = connection as unknown as DataConnection;
  const create = parts._createSendStream.bind(connection);
  parts._createSendStream = (callback) => {
    const stream = create(callback);
    const change = stream._transform.bind(stream);
    stream._transform = (chunk: Buffer, encoding: BufferEncoding, done: TransformCallback) => {
      gatherWrites(connection);
      if (!isUnchanged(chunk, stream.lastByte)) return change(chunk, encoding, done);
      stream.inByteCount += chunk.length;
      stream.outByteCount += chunk.length;
      stream.lastByte = chunk.at(-1) ?? false;
      done(null, chunk);
    };
    return stream;
  };
}

function isUnchanged(chunk: Buffer, before: number | false): boolean {
  const [first] = chunk;
  if (first === undefined || first === LF || before === CR) return false;
  const isAtLineStart = before === false || before === LF;
  return !(first === DOT && isAtLineStart) && !CHANGED.test(chunk.toString("latin1"));
}

function gatherWrites({ _socket: socket }: SMTPConnection): void {
  if (!socket) return;
  socket.cork();
  setImmediate(() => socket.uncork());
}
