CREATE TYPE "public"."channel_status" AS ENUM('active', 'needs_reconnect', 'disconnected');--> statement-breakpoint
CREATE TYPE "public"."delivery_state" AS ENUM('draft', 'scheduled', 'claimed', 'sending', 'uncertain', 'held', 'published', 'failed', 'needs_review', 'cancelled');--> statement-breakpoint
CREATE TYPE "public"."evidence" AS ENUM('answered', 'found', 'person');--> statement-breakpoint
CREATE TYPE "public"."maker" AS ENUM('member', 'api_key', 'app');--> statement-breakpoint
CREATE TYPE "public"."media_kind" AS ENUM('image', 'video');--> statement-breakpoint
CREATE TYPE "public"."post_type" AS ENUM('schedule', 'now', 'draft');--> statement-breakpoint
CREATE TYPE "public"."role" AS ENUM('owner', 'admin', 'editor', 'viewer');--> statement-breakpoint
CREATE TABLE "accounts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"password_hash" text NOT NULL,
	"time_zone" text DEFAULT 'UTC' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"name" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"last4" text NOT NULL,
	"scopes" text[] NOT NULL,
	"created_by" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_keys_keyHash_unique" UNIQUE("key_hash")
);
--> statement-breakpoint
CREATE TABLE "attempts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"delivery_id" uuid NOT NULL,
	"no" integer NOT NULL,
	"owner" text NOT NULL,
	"credential_version" integer NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"intended_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"outcome" text,
	"status" integer,
	"reply" text,
	"message" text,
	CONSTRAINT "attempts_no" UNIQUE("delivery_id","no")
);
--> statement-breakpoint
CREATE TABLE "channels" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"network" text NOT NULL,
	"remote_account" text NOT NULL,
	"name" text NOT NULL,
	"handle" text,
	"url" text,
	"picture_key" text,
	"status" "channel_status" DEFAULT 'active' NOT NULL,
	"limits" jsonb NOT NULL,
	"credential" "bytea",
	"credential_version" integer DEFAULT 1 NOT NULL,
	"paused_until" timestamp (3) with time zone,
	"connected_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "channels_remote_account" UNIQUE("organisation_id","network","remote_account"),
	CONSTRAINT "channels_organisation" UNIQUE("organisation_id","id")
);
--> statement-breakpoint
CREATE TABLE "connect_flows" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"network" text NOT NULL,
	"state_hash" "bytea" NOT NULL,
	"sealed" "bytea" NOT NULL,
	"channel_id" uuid,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "connect_flows_stateHash_unique" UNIQUE("state_hash")
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"post_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"position" smallint NOT NULL,
	"state" "delivery_state" NOT NULL,
	"due_at" timestamp (3) with time zone,
	"next_attempt_at" timestamp (3) with time zone,
	"ready_at" timestamp (3) with time zone GENERATED ALWAYS AS (greatest(due_at, next_attempt_at)) STORED,
	"publish_key" text NOT NULL,
	"prepared" text,
	"maybe_out" boolean DEFAULT false NOT NULL,
	"backoff_step" smallint DEFAULT 0 NOT NULL,
	"attempt_no" integer DEFAULT 0 NOT NULL,
	"crash_count" smallint DEFAULT 0 NOT NULL,
	"lease_token" uuid,
	"lease_owner" text,
	"lease_until" timestamp (3) with time zone,
	"look_at" timestamp (3) with time zone,
	"look_token" uuid,
	"absent_at" timestamp (3) with time zone,
	"remote_id" text,
	"remote_url" text,
	"published_at" timestamp (3) with time zone,
	"evidence" "evidence",
	"first_sent_at" timestamp (3) with time zone,
	"error" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deliveries_post_channel" UNIQUE("post_id","channel_id"),
	CONSTRAINT "deliveries_remote_id" UNIQUE("channel_id","remote_id"),
	CONSTRAINT "published_has_evidence" CHECK ((state = 'published') = (published_at is not null and evidence is not null)),
	CONSTRAINT "under_way_has_lease" CHECK ((state in ('claimed', 'sending')) = (lease_token is not null)),
	CONSTRAINT "uncertain_has_look" CHECK (state <> 'uncertain' or (look_at is not null and maybe_out)),
	CONSTRAINT "only_a_draft_lacks_due_at" CHECK (due_at is not null or state in ('draft', 'cancelled')),
	CONSTRAINT "maybe_out_keeps_its_bytes" CHECK (not maybe_out or prepared is not null),
	CONSTRAINT "never_cancelled_while_maybe_out" CHECK (not (maybe_out and state in ('cancelled', 'failed', 'held', 'draft')))
);
--> statement-breakpoint
CREATE TABLE "feed_items" (
	"id" text PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"content" text NOT NULL,
	"media" jsonb NOT NULL,
	"published_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"organisation_id" uuid NOT NULL,
	"route" text NOT NULL,
	"key" text NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_organisation_id_route_key_pk" PRIMARY KEY("organisation_id","route","key")
);
--> statement-breakpoint
CREATE TABLE "media" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"kind" "media_kind" NOT NULL,
	"mime" text NOT NULL,
	"bytes" bigint NOT NULL,
	"width" integer,
	"height" integer,
	"duration_ms" integer,
	"alt" text DEFAULT '' NOT NULL,
	"sha256" text NOT NULL,
	"file_key" text NOT NULL,
	"thumbnail_key" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "media_organisation" UNIQUE("organisation_id","id")
);
--> statement-breakpoint
CREATE TABLE "memberships" (
	"organisation_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"role" "role" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "memberships_organisation_id_account_id_pk" PRIMARY KEY("organisation_id","account_id")
);
--> statement-breakpoint
CREATE TABLE "organisations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "post_media" (
	"organisation_id" uuid NOT NULL,
	"post_id" uuid NOT NULL,
	"media_id" uuid NOT NULL,
	"position" smallint NOT NULL,
	CONSTRAINT "post_media_post_id_position_pk" PRIMARY KEY("post_id","position")
);
--> statement-breakpoint
CREATE TABLE "posts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"type" "post_type" NOT NULL,
	"date" timestamp (3) with time zone,
	"content" text NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_by_kind" "maker" NOT NULL,
	"created_by_id" uuid NOT NULL,
	"created_by_name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "posts_organisation" UNIQUE("organisation_id","id"),
	CONSTRAINT "scheduled_has_date" CHECK ("posts"."type" = 'draft' or "posts"."date" is not null)
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"account_id" uuid NOT NULL,
	"organisation_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "sessions_tokenHash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "throttles" (
	"key" text PRIMARY KEY NOT NULL,
	"points" integer DEFAULT 0 NOT NULL,
	"expire" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_created_by_accounts_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."accounts"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_delivery_id_deliveries_id_fk" FOREIGN KEY ("delivery_id") REFERENCES "public"."deliveries"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connect_flows" ADD CONSTRAINT "connect_flows_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connect_flows" ADD CONSTRAINT "connect_flows_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connect_flows" ADD CONSTRAINT "connect_flows_channel" FOREIGN KEY ("organisation_id","channel_id") REFERENCES "public"."channels"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_post" FOREIGN KEY ("organisation_id","post_id") REFERENCES "public"."posts"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_channel" FOREIGN KEY ("organisation_id","channel_id") REFERENCES "public"."channels"("organisation_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "feed_items" ADD CONSTRAINT "feed_items_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "feed_items" ADD CONSTRAINT "feed_items_channel" FOREIGN KEY ("organisation_id","channel_id") REFERENCES "public"."channels"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "media" ADD CONSTRAINT "media_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "post_media" ADD CONSTRAINT "post_media_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "post_media" ADD CONSTRAINT "post_media_post" FOREIGN KEY ("organisation_id","post_id") REFERENCES "public"."posts"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "post_media" ADD CONSTRAINT "post_media_media" FOREIGN KEY ("organisation_id","media_id") REFERENCES "public"."media"("organisation_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "posts" ADD CONSTRAINT "posts_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_membership" FOREIGN KEY ("organisation_id","account_id") REFERENCES "public"."memberships"("organisation_id","account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "accounts_email" ON "accounts" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "api_keys_organisation" ON "api_keys" USING btree ("organisation_id","created_at");--> statement-breakpoint
CREATE INDEX "connect_flows_expiry" ON "connect_flows" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "deliveries_under_way" ON "deliveries" USING btree ("channel_id") WHERE state in ('claimed', 'sending', 'uncertain');--> statement-breakpoint
CREATE INDEX "deliveries_head" ON "deliveries" USING btree ("channel_id","due_at","id") WHERE state = 'scheduled';--> statement-breakpoint
CREATE INDEX "deliveries_ready" ON "deliveries" USING btree ("ready_at") WHERE state = 'scheduled';--> statement-breakpoint
CREATE INDEX "deliveries_leased" ON "deliveries" USING btree ("lease_until") WHERE state in ('claimed', 'sending');--> statement-breakpoint
CREATE INDEX "deliveries_look" ON "deliveries" USING btree ("look_at") WHERE state = 'uncertain';--> statement-breakpoint
CREATE INDEX "feed_items_newest" ON "feed_items" USING btree ("channel_id","published_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_age" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "media_by_age" ON "media" USING btree ("organisation_id","created_at","id");--> statement-breakpoint
CREATE INDEX "memberships_account" ON "memberships" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "post_media_media" ON "post_media" USING btree ("media_id");--> statement-breakpoint
CREATE INDEX "posts_soonest" ON "posts" USING btree ("organisation_id","date","id");--> statement-breakpoint
CREATE INDEX "posts_latest" ON "posts" USING btree ("organisation_id","date" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "sessions_account" ON "sessions" USING btree ("account_id");