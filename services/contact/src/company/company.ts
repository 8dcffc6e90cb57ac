import { create } from "@bufbuild/protobuf";
import { companySnapshot } from "@tidings/contacts/row-snapshot";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type CompanyMethodService, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import type { CompanyService } from "@tidings/proto/tidings/contact/v1/company_service";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { requireExpected } from "@tidings/rpc/expected";
import { withCompany, withoutCompany } from "../contact/company-link.ts";
import { editContact } from "../contact/edit.ts";
import type { ContactContext } from "../contact/save.ts";
import { catalogueOf } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { batchOf, type KnownOutcome, rowOf, savedAs, saveOf } from "../record/answer.ts";
import { limit, RECORDS_MAX } from "../record/limit.ts";
import { listRecords } from "../record/list.ts";
import { reachedRow } from "../record/reach.ts";
import { COMPANY_SELECT } from "../rows/company.ts";
import { COMPANY_TOTALS } from "../rows/totals.ts";
import { companyWriter } from "./company-json.ts";
import { companyListSource } from "./list.ts";
import { listCompanyNames } from "./list-names.ts";
import { removeCompanies } from "./remove.ts";
import { companySaver } from "./save.ts";

const getStatement = prepared("companies_get", `select ${COMPANY_SELECT} from companies co where co.id = $1`);
const currentStatement = prepared(
  "companies_current",
  `select ${COMPANY_SELECT} from companies co where co.id = any (array(select unnest($1::integer[])))`,
);

export type CompanyHandlers = Handlers<typeof CompanyService> & Handlers<typeof CompanyMethodService>;

export function companyHandlers(context: ContactContext): CompanyHandlers {
  const { database, catalogues } = context;
  const saver = companySaver(context);

  const write = async (row: Row, call: Call) => {
    call.showsVersion?.(Number(row.version));
    return companyWriter(await catalogueOf(catalogues, [row])).message(row);
  };

  const saved = async (outcome: KnownOutcome | undefined, call: Call) => ({
    company: await write(rowOf(outcome), call),
    ...savedAs(outcome),
  });

  const batchResponse = async (outcomes: KnownOutcome[]) => {
    const message = companyWriter(await catalogues.current()).messages();
    const { items, statuses } = batchOf(outcomes, message, () => create(CompanySchema));
    return { companies: items, statuses };
  };

  return {
    ...companyMethods(context),

    getCompany: async ({ id }, call) => write(await readCompany(database, id, call), call),

    listCompanies: ({ query }, call) => list(context, query, call),

    async createCompany({ company }, call) {
      const isNew = company?.force ?? false;
      return saved(await saver.one({ message: company, isNew }, call), call);
    },

    async updateCompany(request, call) {
      return saved(await saver.one(saveOf(request, request.company), call), call);
    },

    async deleteCompany({ id }, call) {
      const [outcome] = await removeCompanies(context, [id], call);
      return write(rowOf(outcome), call);
    },

    async batchCreateCompanies({ requests }, call) {
      const items = requests.map(({ company }) => ({ message: company, isNew: company?.force ?? false }));
      return batchResponse(await saver.many(items, call));
    },

    async batchUpdateCompanies({ requests }, call) {
      return batchResponse(
        await saver.many(
          requests.map((request) => saveOf(request, request.company)),
          call,
        ),
      );
    },

    async batchDeleteCompanies({ ids }, call) {
      return batchResponse(await removeCompanies(context, ids, call));
    },
  };
}

async function list(context: ContactContext, query: ListQuery | undefined, call: Call) {
  const { page, catalogue } = await listRecords(context, query, call, {
    owner: "co.created_by",
    total: COMPANY_TOTALS.created_by,
    source: ({ company }) => companyListSource(company, call),
  });
  return {
    companies: page.rows.map(companyWriter(catalogue).messages()),
    totalSize: page.totalSize,
    ids: page.ids,
  };
}

function companyMethods(context: ContactContext): Handlers<typeof CompanyMethodService> {
  const { database, catalogues } = context;
  return {
    async addCompanyContact({ id, contactId }, call) {
      await editContact(context, contactId, call, async (row, { transaction }) => {
        const company = visible(await transaction.query(getStatement, [id]), call);
        return withCompany(row, { id, name: company.companyname ?? "" });
      });
      return {};
    },

    async removeCompanyContact({ id, contactId }, call) {
      await readCompany(database, id, call);
      await editContact(context, contactId, call, (row) => withoutCompany(row, id));
      return {};
    },

    async batchGetCompanySnapshots({ ids }, { deadlineMs }) {
      limit(ids.length, RECORDS_MAX);
      const rows = await database.query(currentStatement, [ids], deadlineMs);
      const { company: set } = await catalogueOf(catalogues, rows);
      return { snapshots: rows.map((row) => companySnapshot(withCustomValues(row, set))) };
    },

    async listCompanyNames({ beginning }, { deadlineMs }) {
      return { names: await listCompanyNames(database, beginning, deadlineMs) };
    },
  };
}

async function readCompany(database: Database, id: number, call: Call): Promise<Row> {
  return visible(await database.query(getStatement, [id], call.deadlineMs), call);
}

function visible([row]: Row[], call: Call): Row {
  const company = reachedRow(call, Verb.VIEW, row, "created_by");
  requireExpected(call, CompanySchema.typeName, { id: Number(company.id), version: Number(company.version) });
  return company;
}
