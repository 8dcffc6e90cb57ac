import type { DescService } from "@bufbuild/protobuf";
import { answerOnceIn } from "@tidings/commands/answer-once";
import type { Database } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { RoleService } from "@tidings/proto/tidings/identity/v1/role_service";
import { UserMethodService } from "@tidings/proto/tidings/identity/v1/user";
import { UserService } from "@tidings/proto/tidings/identity/v1/user_service";
import { actorSigner } from "@tidings/rpc/actor";
import { type RpcClient, rpcClient } from "@tidings/rpc/client";
import { local } from "@tidings/rpc/local";
import { connect } from "@tidings/rpc/stream/connection";
import type { Tls } from "@tidings/runtime/tls";
import { roleHandlers } from "./identity/role.ts";
import { userHandlers } from "./identity/user.ts";

export interface Clients {
  /** The client of a service, wherever it is served. */
  of<S extends DescService>(service: S): RpcClient<S>;
  /** The client of a service that several processes serve, in one of them. */
  in<S extends DescService>(process: string, service: S): RpcClient<S>;
  close(): void;
}

export interface ClientsOptions {
  /** `host:port` of each process behind the gateway, by its name. */
  addresses: Record<string, string>;
  /** The certificate that this process and the services show to each other; no TLS when absent. */
  tls?: Tls | undefined;
  /** Signs who a call is made for. */
  actorPrivateKey: string;
  /** Users and roles live in this very process. */
  identity: { database: Database; outbox: Outbox };
}

/** One connection to each process, whatever number of services it has. */
export function openClients({ addresses, tls, actorPrivateKey, identity }: ClientsOptions): Clients {
  const processes = new Map(
    Object.entries(addresses).map(([name, address]) => [
      name,
      { connection: connect(address, { tls }), sign: actorSigner(actorPrivateKey, name) },
    ]),
  );
  const { database, outbox } = identity;
  const answerOnce = answerOnceIn(database);
  const users = userHandlers(database, outbox);
  const clients = new Map<DescService, RpcClient<DescService>>([
    [UserService, local(UserService, users, answerOnce)],
    [UserMethodService, local(UserMethodService, users, answerOnce)],
    [RoleService, local(RoleService, roleHandlers(database, outbox), answerOnce)],
  ]);
  const open = <S extends DescService>(name: string, service: S) => {
    const process = processes.get(name);
    if (!process) throw new Error(`no process serves ${service.typeName}`);
    return rpcClient(service, process.connection, process.sign);
  };
  return {
    of: <S extends DescService>(service: S) => {
      const client = clients.get(service) ?? open(processOf(service), service);
      clients.set(service, client);
      // A client is kept under its own descriptor; the compiler cannot see the link.
      return client as RpcClient<S>;
    },
    in: open,
    close: () => {
      for (const { connection } of processes.values()) connection.close();
    },
  };
}

/** `tidings.contact.v1.TagService` is served by the process `contact`. */
function processOf({ typeName }: DescService): string {
  return typeName.split(".")[1] ?? "";
}
