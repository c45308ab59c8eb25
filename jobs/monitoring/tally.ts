import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'

/** What this worker has done since it last recorded a minute, for the operators' page. */
export class Tally {
  #lateMs: number[] = []
  #failed = 0

  /** A delivery went out, `lateMs` after its due time. */
  published(lateMs: number): void {
    this.#lateMs.push(lateMs)
  }

  /** An attempt ended without publication. */
  failed(): void {
    this.#failed += 1
  }

  /** Record the minute, with the deliveries that wait in the whole installation. Then begin the next minute. */
  async write(tx: Tx, owner: string): Promise<void> {
    const late = this.#lateMs.sort((a, b) => a - b)
    const failed = this.#failed
    this.#lateMs = []
    this.#failed = 0
    const share = (part: number) => (late.length > 0 ? Math.round(late[Math.floor((late.length - 1) * part)]!) : null)
    const [waits] = await tx.execute<{ waiting: number; oldestMs: number }>(sql`
      select count(*)::integer as waiting, coalesce(extract(epoch from now() - min(ready_at)) * 1000, 0)::integer as "oldestMs"
      from deliveries where state = 'scheduled' and ready_at <= now()`)
    await tx.execute(sql`
      insert into worker_minutes as m
        (at, owner, published, failed, lateness_p50_ms, lateness_p95_ms, lateness_max_ms, waiting, oldest_waiting_ms)
      values (date_trunc('minute', now()), ${owner}, ${late.length}, ${failed}, ${share(0.5)}, ${share(0.95)}, ${share(1)},
        ${waits!.waiting}, ${waits!.oldestMs})
      on conflict (at, owner) do update set
        published = m.published + excluded.published, failed = m.failed + excluded.failed,
        lateness_p50_ms = greatest(m.lateness_p50_ms, excluded.lateness_p50_ms),
        lateness_p95_ms = greatest(m.lateness_p95_ms, excluded.lateness_p95_ms),
        lateness_max_ms = greatest(m.lateness_max_ms, excluded.lateness_max_ms),
        waiting = greatest(m.waiting, excluded.waiting), oldest_waiting_ms = greatest(m.oldest_waiting_ms, excluded.oldest_waiting_ms)`)
  }
}
