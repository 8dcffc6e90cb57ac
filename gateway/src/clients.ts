import type { DescService } from "@bufbuild/protobuf";
import { CompanyService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import { CompanyFieldService, ContactFieldService } from "@tidings/proto/tidings/contact/v1/field";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag";
import { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook";
import type { ActorSigner } from "@tidings/rpc/actor";
import { connect, type RpcClient, rpcClient } from "@tidings/rpc/client";

export interface Clients {
  contacts: RpcClient<typeof ContactService>;
  companies: RpcClient<typeof CompanyService>;
  webhooks: RpcClient<typeof WebhookService>;
  /** The client of any service of the resource table. */
  of(service: DescService): RpcClient<DescService>;
  close(): void;
}

/** One connection to each process, whatever number of services it has. */
export function openClients(addresses: { contact: string; webhook: string }, sign: ActorSigner): Clients {
  const contact = {
    services: [ContactService, CompanyService, ContactFieldService, CompanyFieldService, TagService],
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
  return {
    contacts: rpcClient(ContactService, connectionOf(ContactService), sign),
    companies: rpcClient(CompanyService, connectionOf(CompanyService), sign),
    webhooks: rpcClient(WebhookService, connectionOf(WebhookService), sign),
    of: (service) => rpcClient(service, connectionOf(service), sign),
    close: () => {
      for (const { connection } of processes) connection.close();
    },
  };
}
