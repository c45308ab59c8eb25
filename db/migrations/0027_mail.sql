CREATE TYPE "public"."mail_kind" AS ENUM('password_reset', 'password_changed', 'address_check', 'posts', 'channels', 'webhooks');--> statement-breakpoint
CREATE TYPE "public"."mail_link_kind" AS ENUM('password_reset', 'address_check');--> statement-breakpoint
CREATE TYPE "public"."mail_state" AS ENUM('pending', 'sent', 'failed', 'dropped');--> statement-breakpoint
CREATE TYPE "public"."notice_kind" AS ENUM('posts', 'channels', 'webhooks');--> statement-breakpoint
CREATE TABLE "mail_links" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"kind" "mail_link_kind" NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"email" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_links_tokenHash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "mails" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid,
	"account_id" uuid,
	"kind" "mail_kind" NOT NULL,
	"subject_ids" uuid[] DEFAULT '{}' NOT NULL,
	"content" "bytea",
	"state" "mail_state" DEFAULT 'pending' NOT NULL,
	"attempt_no" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone,
	"give_up_at" timestamp (3) with time zone NOT NULL,
	"lease_token" uuid,
	"lease_until" timestamp (3) with time zone,
	"failure" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "mails_pending_has_next" CHECK ((state = 'pending') = (next_attempt_at is not null)),
	CONSTRAINT "mails_pending_or_ended" CHECK ((state = 'pending') = (ended_at is null))
);
--> statement-breakpoint
CREATE TABLE "notices" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"kind" "notice_kind" NOT NULL,
	"subject_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "email_verified_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "wants_notices" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "mail_links" ADD CONSTRAINT "mail_links_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mails" ADD CONSTRAINT "mails_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mails" ADD CONSTRAINT "mails_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notices" ADD CONSTRAINT "notices_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notices" ADD CONSTRAINT "notices_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "mail_links_account" ON "mail_links" USING btree ("account_id","kind");--> statement-breakpoint
CREATE INDEX "mail_links_expiry" ON "mail_links" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "mails_due" ON "mails" USING btree ("next_attempt_at") WHERE state = 'pending';--> statement-breakpoint
CREATE INDEX "mails_account" ON "mails" USING btree ("account_id","kind","created_at");--> statement-breakpoint
CREATE INDEX "mails_organisation" ON "mails" USING btree ("organisation_id");--> statement-breakpoint
CREATE INDEX "mails_ended" ON "mails" USING btree ("ended_at");--> statement-breakpoint
CREATE INDEX "notices_waiting" ON "notices" USING btree ("account_id","organisation_id","kind","created_at");--> statement-breakpoint
CREATE INDEX "notices_organisation" ON "notices" USING btree ("organisation_id");