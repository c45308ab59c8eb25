import { createHash } from 'node:crypto'
import express from 'express'
import postgres from 'postgres'
import { v7 as uuidv7 } from 'uuid'
import { readEnv } from '../../../db/env.ts'
import * as statements from './handwritten.ts'

// The floor of part d: what remains of the web process when nothing but its SQL is left. It checks nothing, shows rows
// as they are, and neither logs nor keeps what was asked.
const env = readEnv()
const sql = postgres(env.databaseUrl!, { max: env.databaseConnections, connection: { TimeZone: 'UTC' } })

type Caller = { id: string; name: string; organisation_id: string }
type Wanted = { type: string; date: string; content: string; channelIds: string[] }
type Run = (statement: string, parameters: unknown[]) => Promise<postgres.Row[]>

const run = runOn(sql)
const app = express()
app.disable('x-powered-by')
app.use(express.json())
app.get('/readyz', (_req, res) => void res.send('ready\n'))
app.get('/public/v1/channels', answer(listChannels))
app.get('/public/v1/posts', answer(listPosts))
app.post('/public/v1/posts', answer(createPost, 201))
app.listen(env.port)

function answer(
  does: (caller: Caller, req: express.Request) => Promise<unknown>,
  status = 200,
): express.RequestHandler {
  return (req, res, next) => {
    callerOf(req)
      .then((caller) => does(caller, req))
      .then((output) => res.status(status).type('application/json').end(JSON.stringify(output)))
      .catch(next)
  }
}

async function callerOf(req: express.Request): Promise<Caller> {
  const digest = createHash('sha256').update(req.headers.authorization!).digest()
  const [caller] = await run(statements.credential, [digest])
  return caller as Caller
}

async function listChannels(caller: Caller): Promise<unknown> {
  return { data: await run(statements.channels, [caller.organisation_id, 51]) }
}

async function listPosts(caller: Caller, req: express.Request): Promise<unknown> {
  return { data: await run(statements.posts, [caller.organisation_id, Number(req.query.limit) + 1]) }
}

function createPost(caller: Caller, req: express.Request): Promise<unknown> {
  const { type, date, content, channelIds } = req.body as Wanted
  const [organisation, post, id] = [caller.organisation_id, uuidv7(), uuidv7()]
  const deliveries = [{ id, channelId: channelIds[0], position: 0, publishKey: id }]
  return sql.begin(async (tx) => {
    const run = runOn(tx)
    await run(statements.facts, [organisation, channelIds, []])
    const maker = ['api_key', caller.id, caller.name]
    const [made] = await run(statements.createPost, [post, organisation, type, date, content, ...maker, [], deliveries])
    return made
  })
}

function runOn(sql: Pick<postgres.Sql, 'unsafe'>): Run {
  return (statement, parameters) => sql.unsafe(statement, parameters as never[], { prepare: true })
}
