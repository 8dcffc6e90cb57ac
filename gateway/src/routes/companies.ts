import { CompanyMethodService } from "@tidings/proto/tidings/contact/v1/company";
import { SUCCESS } from "../route/answer.ts";
import { entityId } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { oldMemberPath } from "./old-paths.ts";
import type { RoutesContext } from "./routes-context.ts";

/** Routes of companies beyond the standard operations. */
export function companyRoutes({ clients }: RoutesContext): Route[] {
  const companies = clients.of(CompanyMethodService);
  const rpc = CompanyMethodService.method;
  const parameters = { id: entityId("companies", "view"), contactId: entityId("contacts", "edit") };
  return [
    route({
      method: "POST",
      path: "/companies/:id/contact/:contactId/add",
      summary: "Add a contact to a company",
      rpc: rpc.addCompanyContact,
      parameters,
      answer: SUCCESS,
      aliases: oldMemberPath("companies", "add"),
      handle: ({ parameters: named, options }) => companies.addCompanyContact(named, options),
    }),
    route({
      method: "POST",
      path: "/companies/:id/contact/:contactId/remove",
      summary: "Remove a contact from a company",
      rpc: rpc.removeCompanyContact,
      parameters,
      answer: SUCCESS,
      aliases: oldMemberPath("companies", "remove"),
      handle: ({ parameters: named, options }) => companies.removeCompanyContact(named, options),
    }),
  ];
}
