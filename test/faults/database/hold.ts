import { sql } from 'drizzle-orm'
import { connect, type Db } from '../../../db/client.ts'
import { until } from '../../processes.ts'

// Lets a test keep the database from taking a step of the ledger, so that a process can be ended right before it.

const HoldLock = 70_040

/** A step: `old state>new state` of a delivery, what a look found, a fresh credential, or the commit of a new post. */
export type Step = 'scheduled>claimed' | 'claimed>sending' | 'sending>published' | 'looked' | 'credential' | 'commit'

/** Prepare a database for `hold`. */
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
  /** Wait until somebody would take the step. */
  reached: () => Promise<unknown>
  /** Let them. */
  letThrough: () => Promise<void>
  /** End the sessions that wait: their processes have ended. */
  release: () => Promise<void>
}

/** Let nobody take `step` until it is let go. */
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
