# docker build --build-arg SERVICE=gateway -t tidings-gateway .
# SERVICE is the name of a process (scripts/processes.ts) or migrate. `npm run images` packs all of them without Docker.
ARG BASE=node:24-slim

FROM ${BASE} AS build
WORKDIR /tidings
COPY . .
RUN npm run build -- --apps /apps

FROM ${BASE}
ARG SERVICE
COPY --from=build /apps/${SERVICE} /app
# Where a volume goes, for those that keep files.
RUN install -d -o 65532 -g 65532 /var/lib/tidings
ENV NODE_ENV=production MALLOC_ARENA_MAX=2
WORKDIR /app
USER 65532:65532
ENTRYPOINT ["node", "--max-semi-space-size=4", "--heap-growing-percent=50", "/app/main.js"]
