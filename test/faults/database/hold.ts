import { sql } from 'drizzle-orm'
import { connect, type Db } from '../../../db/client.ts'
import { until } from '../../processes.ts'

// Lets a test block a step of the ledger in the database, so that it can end a process right before the step.

const HoldLock = 70_040

/** A step: `old state>new state` of a delivery, the result of a look, a fresh credential, or the commit of a new post. */
export type Step = 'scheduled>claimed' | 'claimed>sending' | 'sending>published' | 'looked' | 'credential' | 'commit'

/** Prepares a database for `hold`. */
export async function makeHoldable(db: Db): Promise<void> {
  await db.execute(
    sql.raw(`
    create function hold_step() returns trigger language plpgsql as $$ begin
      if tg_nargs = 1 then
        perform pg_advisory_xact_lock_shared(${HoldLock}, hashtext(tg_argv[0]));
      elsif to_jsonb(old)->>'look_token' is not null then
        perform pg_advisory_xact_lock_shared(${HoldLock}, hashtext('looked'));
      else
        perform pg_advisory_xact_lock_shared(${HoldLock}, hashtext((to_jsonb(old)->>'state') || '>' || (to_jsonb(new)->>'state')));
      end if;
      return new;
    end $$;
    create trigger hold_step before update on deliveries for each row execute function hold_step();
    create trigger hold_step before update of credential on channels for each row execute function hold_step('credential');
    create constraint trigger hold_step after insert on posts deferrable initially deferred
      for each row execute function hold_step('commit');`),
  )
}

export type Held = {
  /** Waits until a process tries the step. */
  reached: () => Promise<unknown>
  /** Unblocks the step. */
  letThrough: () => Promise<void>
  /** Ends the sessions that wait. Call it when their processes have ended. */
  release: () => Promise<void>
}

/** Blocks `step` for all processes until `letThrough` or `release` is called. */
export async function hold(url: string, step: Step): Promise<Held> {
  const { db, end } = connect(url, { connections: 1, name: 'test hold' })
  await db.execute(sql`select pg_advisory_lock(${HoldLock}::int, hashtext(${step}))`)
  const waiting = sql`from pg_locks where locktype = 'advisory' and classid = ${HoldLock}::int and not granted
    and database = (select oid from pg_database where datname = current_database())`
  return {
    reached: () => until(async () => (await db.execute(sql`select pid ${waiting}`)).length > 0),
    letThrough: end,
    async release() {
      await db.execute(sql`select pg_terminate_backend(pid, 5000) ${waiting}`)
      await end()
    },
  }
}
