import type { DescService } from "@bufbuild/protobuf";
import { CompanyService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device";
import { CompanyFieldService, ContactFieldService } from "@tidings/proto/tidings/contact/v1/field";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag";
import { RoleService } from "@tidings/proto/tidings/identity/v1/role";
import { UserService } from "@tidings/proto/tidings/identity/v1/user";
import { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook";
import type { ActorSigner } from "@tidings/rpc/actor";
import { connect, type RpcClient, rpcClient } from "@tidings/rpc/client";
import { local } from "@tidings/rpc/local";
import type { Database } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { roleHandlers } from "./identity/role.ts";
import { userHandlers } from "./identity/user.ts";

export interface Clients {
  contacts: RpcClient<typeof ContactService>;
  companies: RpcClient<typeof CompanyService>;
  notes: RpcClient<typeof NoteService>;
  devices: RpcClient<typeof DeviceService>;
  segments: RpcClient<typeof SegmentService>;
  webhooks: RpcClient<typeof WebhookService>;
  users: RpcClient<typeof UserService>;
  /** The client of any service of the resource table. */
  of(service: DescService): RpcClient<DescService>;
  close(): void;
}

/** One connection to each process, whatever number of services it has. Users and roles live in this one. */
export function openClients(
  addresses: { contact: string; webhook: string },
  sign: ActorSigner,
  identity: { database: Database; outbox: Outbox },
): Clients {
  const contact = {
    services: [
      ContactService,
      CompanyService,
      ContactFieldService,
      CompanyFieldService,
      SegmentService,
      TagService,
      NoteService,
      DeviceService,
    ],
    address: addresses.contact,
  };
  const webhook = { services: [WebhookService], address: addresses.webhook };
  const processes = [contact, webhook].map(({ services, address }) => ({
    services: services as DescService[],
    connection: connect(address),
  }));
  const connectionOf = (service: DescService) => {
    const process = processes.find(({ services }) => services.includes(service));
    if (!process) throw new Error(`no process serves ${service.typeName}`);
    return process.connection;
  };
  const users = local(UserService, userHandlers(identity.database, identity.outbox));
  const roles = local(RoleService, roleHandlers(identity.database, identity.outbox));
  const here = new Map<DescService, RpcClient<DescService>>([
    [UserService, users],
    [RoleService, roles],
  ]);
  return {
    users,
    contacts: rpcClient(ContactService, connectionOf(ContactService), sign),
    companies: rpcClient(CompanyService, connectionOf(CompanyService), sign),
    notes: rpcClient(NoteService, connectionOf(NoteService), sign),
    devices: rpcClient(DeviceService, connectionOf(DeviceService), sign),
    segments: rpcClient(SegmentService, connectionOf(SegmentService), sign),
    webhooks: rpcClient(WebhookService, connectionOf(WebhookService), sign),
    of: (service) => here.get(service) ?? rpcClient(service, connectionOf(service), sign),
    close: () => {
      for (const { connection } of processes) connection.close();
    },
  };
}
