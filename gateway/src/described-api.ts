import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import { CompanyFieldService } from "@tidings/proto/tidings/contact/v1/field_service";
import type { Outgoing } from "@tidings/rpc/client";
import packageJson from "../package.json" with { type: "json" };
import { type Document, documentOf } from "./openapi/document.ts";
import { addExamples } from "./openapi/examples.ts";
import { type DescribedField, type FieldsOf, withFields } from "./openapi/fields.ts";
import { sendTagged, type Tagged, tagged } from "./rest/exchange.ts";
import type { Answer } from "./route/answer.ts";
import { mayAsk, rightOf } from "./route/right.ts";
import { type Route, route } from "./route/route.ts";
import { apiRoutes } from "./routes/api-routes.ts";
import type { RoutesContext } from "./routes/routes-context.ts";

/** The place of the description below /api. Whoever is signed in gets it with the fields of this installation. */
export const DESCRIPTION_PATH = "/openapi.json";
/** More fields than a table has. */
const FIELDS_MAX = 1_000;
/** Callers see the fields of companies or do not; the others are descriptions of before a change. */
const DESCRIPTIONS_KEPT = 4;
const DESCRIPTION: Answer<Tagged> = {
  statuses: [200],
  describe: () => ({ type: "object" }),
  send: sendTagged,
};

export interface DescribedApi {
  routes: Route[];
  /** The description that every installation has in common. */
  document: Document;
}

/** The routes of the API with one that describes them all. The description takes a tenth of a second to make: once. */
export function describedApi(context: RoutesContext): DescribedApi {
  const contacts = context.clients.of(ContactMethodService);
  const companyFields = context.clients.of(CompanyFieldService);
  const made = new Map<string, Tagged>();
  const describe = route({
    method: "GET",
    path: DESCRIPTION_PATH,
    summary: "Describe this API",
    operation: "describe",
    answer: DESCRIPTION,
    async handle({ options }) {
      const fields = await fieldsOf(options);
      // Descriptions differ by their fields alone.
      const key = JSON.stringify(fields);
      const known = made.get(key) ?? tagged(JSON.stringify(withFields(document, fields)));
      // The one that was asked for last is the last of the map.
      made.delete(key);
      made.set(key, known);
      const [oldest = ""] = made.keys();
      if (made.size > DESCRIPTIONS_KEPT) made.delete(oldest);
      return known;
    },
  });
  const fieldsOf = async (options: Outgoing): Promise<FieldsOf> => {
    const { fields } = await contacts.listContactFields({}, options);
    const query = { pageSize: FIELDS_MAX, skipTotal: true };
    const mayList = mayAsk(options.actor, rightOf(CompanyFieldService.method.listFields));
    const ofCompanies = mayList ? await companyFields.listFields({ query }, options) : undefined;
    return {
      Contact: Object.values(
        JSON.parse(Buffer.from(fields).toString()) as Record<string, DescribedField>,
      ).map(shown),
      ...(ofCompanies && { Company: ofCompanies.fields.map(shown) }),
    };
  };
  const routes = [...apiRoutes(context), describe];
  const document = documentOf(routes, { version: packageJson.version, nested: context.nested });
  addExamples(document);
  return { routes, document };
}

function shown({ alias, label, type }: DescribedField): DescribedField {
  return { alias, label, type };
}
