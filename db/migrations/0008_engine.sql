CREATE TABLE "installation" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"paused_at" timestamp (3) with time zone,
	"restored_at" timestamp (3) with time zone,
	"system_identifier" text,
	"database_oid" bigint,
	"timeline" integer,
	CONSTRAINT "installation_is_one" CHECK ("installation"."only")
);
--> statement-breakpoint
CREATE TABLE "networks" (
	"name" text PRIMARY KEY NOT NULL,
	"at_once" integer,
	"paused_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "worker_minutes" (
	"at" timestamp (3) with time zone NOT NULL,
	"owner" text NOT NULL,
	"published" integer NOT NULL,
	"failed" integer NOT NULL,
	"lateness_p50_ms" integer,
	"lateness_p95_ms" integer,
	"lateness_max_ms" integer,
	"waiting" integer NOT NULL,
	"oldest_waiting_ms" integer NOT NULL,
	CONSTRAINT "worker_minutes_at_owner_pk" PRIMARY KEY("at","owner")
);
--> statement-breakpoint
CREATE TABLE "workers" (
	"owner" text PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"pid" integer NOT NULL,
	"concurrency" integer NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gone_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "paused_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE UNIQUE INDEX "deliveries_suspect" ON "deliveries" USING btree ((crash_count > 0)) WHERE crash_count > 0 and state in ('claimed', 'sending');--> statement-breakpoint
CREATE INDEX "deliveries_suspects_waiting" ON "deliveries" USING btree ("ready_at") WHERE crash_count > 0 and state = 'scheduled';--> statement-breakpoint
INSERT INTO "installation" DEFAULT VALUES;
