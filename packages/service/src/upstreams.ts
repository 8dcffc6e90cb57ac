import type { DescService } from "@bufbuild/protobuf";
import { OWNERS } from "@tidings/proto/tidings/owners";
import { actorSigner } from "@tidings/rpc/actor";
import { type RpcClient, rpcClient } from "@tidings/rpc/client";
import { type Connection, connect } from "@tidings/rpc/stream/connection";
import { type ServiceConfig, variableOf } from "@tidings/runtime/config";
import type { Tls } from "@tidings/runtime/tls";

/** Clients of the other services whose addresses are configured. Calls are signed with the key of this process. */
export interface Upstreams {
  /** Throws when no address of `owner` is configured. */
  client<S extends DescService>(owner: string, service: S): RpcClient<S>;
  close(): void;
}

export function openUpstreams(config: ServiceConfig, tls: Tls | undefined): Upstreams {
  const { ACTOR_PRIVATE_KEY: privateKey = "" } = config;
  const connections = new Map<string, Connection>(
    OWNERS.flatMap((owner) => {
      const address = config[variableOf(owner)];
      return address ? [[owner, connect(address, { tls })] as const] : [];
    }),
  );
  const clients = new Map<string, unknown>();
  return {
    client<S extends DescService>(owner: string, service: S) {
      const connection = connections.get(owner);
      if (!connection) throw new Error(`${variableOf(owner)} does not say where ${owner} is`);
      const name = `${owner} ${service.typeName}`;
      const client = clients.get(name) ?? rpcClient(service, connection, actorSigner(privateKey, owner));
      clients.set(name, client);
      // Under this name there is a client of this service; the compiler cannot see the link.
      return client as RpcClient<S>;
    },
    close() {
      for (const connection of connections.values()) connection.close();
    },
  };
}
