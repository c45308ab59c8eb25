-- Not made anew where it is there already, as after `pg_restore --clean` of a dump from before: two rows are noticed.
CREATE TABLE IF NOT EXISTS "database_mark" (
	"written_in" bigint NOT NULL
);
--> statement-breakpoint
-- Without a key, and so that it can be written anew where everything is published (logical replication).
ALTER TABLE "database_mark" REPLICA IDENTITY FULL;--> statement-breakpoint
INSERT INTO "database_mark" ("written_in") VALUES (pg_current_xact_id()::text::bigint % 4294967296);--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "allows_failover" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "workers" ADD COLUMN "leaving_at" timestamp (3) with time zone;
