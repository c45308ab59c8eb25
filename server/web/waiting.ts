import type { Request, RequestHandler, Response } from 'express'
import type { Prober } from '../../db/prober.ts'

const WaitAtMostMs = 3000
const LookEveryMs = 500

type Waiting = { req: Request; res: Response; since: number; received: number }

/**
 * Refuse requests while the database is silent, and those that have waited 3 s for its answer. A body that is
 * still arriving does not count as waiting. A response that has begun continues.
 *
 * The work of a refused request continues, and its caller does not learn the result: the database may still do it later.
 */
export function limitDatabaseWait(
  prober: Pick<Prober, 'answers' | 'answeredAt'>,
  refuse: (req: Request, res: Response) => void,
): RequestHandler {
  const waiting = new Set<Waiting>()
  setInterval(() => prober.answers() !== 'yes' && waiting.forEach(refuseLate), LookEveryMs).unref()

  function refuseLate(one: Waiting): void {
    const { req, res } = one
    if (!req.complete && req.socket.bytesRead !== one.received)
      Object.assign(one, { received: req.socket.bytesRead, since: performance.now() })
    if (res.headersSent || performance.now() - Math.max(one.since, prober.answeredAt()) < WaitAtMostMs) return
    waiting.delete(one)
    refuse(req, res)
  }
  return (req, res, next) => {
    if (prober.answers() === 'silent') return void refuse(req, res)
    const one = { req, res, since: performance.now(), received: 0 }
    waiting.add(one)
    res.once('close', () => waiting.delete(one))
    next()
  }
}
