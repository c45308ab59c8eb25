import { sql } from 'drizzle-orm'
import { connect, type Db } from '../../db/client.ts'

// Lets a test keep the database from taking a step of the ledger, so that a process can be ended right before it.

const HoldLock = 70_040

/** A step of the ledger: `old state>new state` of a delivery, `looked`, or `credential`. */
export type Step = 'scheduled>claimed' | 'claimed>sending' | 'sending>published' | 'looked' | 'credential'

/** Prepare a database for `hold`. */
export async function makeHoldable(db: Db): Promise<void> {
  await db.execute(
    sql.raw(`
    create function hold_step() returns trigger language plpgsql as $$ begin
      if tg_table_name = 'channels' then
        perform pg_advisory_xact_lock_shared(${HoldLock}, hashtext('credential'));
      elsif to_jsonb(old)->>'look_token' is not null then
        perform pg_advisory_xact_lock_shared(${HoldLock}, hashtext('looked'));
      else
        perform pg_advisory_xact_lock_shared(${HoldLock}, hashtext((to_jsonb(old)->>'state') || '>' || (to_jsonb(new)->>'state')));
      end if;
      return new;
    end $$;
    create trigger hold_step before update on deliveries for each row execute function hold_step();
    create trigger hold_step before update of credential on channels for each row execute function hold_step();`),
  )
}

/** Let nobody take `step` until `release`, which ends the sessions that waited for it: their processes have ended. */
export async function hold(url: string, step: Step): Promise<{ release: () => Promise<void> }> {
  const { db, end } = connect(url, { connections: 1, name: 'test hold' })
  await db.execute(sql`select pg_advisory_lock(${HoldLock}::int, hashtext(${step}))`)
  return {
    async release() {
      await db.execute(sql`
        select pg_terminate_backend(pid, 5000) from pg_locks where locktype = 'advisory' and classid = ${HoldLock}::int and not granted`)
      await end()
    },
  }
}
