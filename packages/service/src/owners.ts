import type { ListSnapshots } from "@tidings/projection/rebuild";
import { SnapshotService } from "@tidings/proto/tidings/api/v1/snapshot";
import { actorSigner } from "@tidings/rpc/actor";
import { type RpcClient, rpcClient } from "@tidings/rpc/client";
import { connect } from "@tidings/rpc/connection";
import { OWNERS, type ServiceConfig, variableOf } from "@tidings/runtime/config";
import type { Tls } from "@tidings/runtime/tls";

const TIMEOUT_MS = 10_000;

/** The processes that own what this one keeps something of, as far as it was told where they are. */
export function openOwners(
  config: ServiceConfig,
  tls: Tls | undefined,
): { listSnapshots: ListSnapshots; close(): void } {
  const { ACTOR_PRIVATE_KEY: privateKey = "" } = config;
  const connections = OWNERS.flatMap((owner) => {
    const address = config[variableOf(owner)];
    return address ? [[owner as string, connect(address, { tls })] as const] : [];
  });
  const clients = new Map<string, RpcClient<typeof SnapshotService>>(
    connections.map(([owner, connection]) => [
      owner,
      rpcClient(SnapshotService, connection, actorSigner(privateKey, owner)),
    ]),
  );
  const actor = { kind: "service" as const, id: null, name: "Projection", admin: false, permissions: {} };
  return {
    async listSnapshots(owner, request, deadlineMs = Date.now() + TIMEOUT_MS) {
      const client = clients.get(owner);
      if (!client) throw new Error(`${variableOf(owner)} does not say where ${owner} is`);
      const outgoing = { actor, deadlineMs, requestId: "" };
      return (await client.listSnapshots(request, outgoing)).snapshots;
    },
    close: () => {
      for (const [, connection] of connections) connection.close();
    },
  };
}
