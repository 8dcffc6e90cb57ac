import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

const TIMEOUT_MS = 2_000;

/**
 * False when JetStream does not answer, though the server may take connections: nats-server 2.9 switches it off when the disk is
 * full, and does not switch it on again.
 */
export async function jetstreamAnswers(url: string): Promise<boolean> {
  const connection = await connect({ servers: url, timeout: TIMEOUT_MS, reconnect: false }).catch(
    () => undefined,
  );
  if (!connection) return false;
  try {
    const manager = await jetstreamManager(connection, { timeout: TIMEOUT_MS, checkAPI: false });
    await manager.getAccountInfo();
    return true;
  } catch {
    return false; // that it does not answer is the answer
  } finally {
    await connection.close();
  }
}
