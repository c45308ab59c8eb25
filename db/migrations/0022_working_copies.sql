CREATE TABLE "working_copies" (
	"id" uuid NOT NULL,
	"organisation_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"is_new" boolean NOT NULL,
	"revision" integer NOT NULL,
	"post_version" integer,
	"content" text NOT NULL,
	"channel_ids" uuid[] NOT NULL,
	"media_ids" uuid[] NOT NULL,
	"alts" jsonb NOT NULL,
	"date" text NOT NULL,
	"time" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "working_copies_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
ALTER TABLE "working_copies" ADD CONSTRAINT "working_copies_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "working_copies" ADD CONSTRAINT "working_copies_membership" FOREIGN KEY ("organisation_id","account_id") REFERENCES "public"."memberships"("organisation_id","account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "working_copies_newest" ON "working_copies" USING btree ("organisation_id","account_id","updated_at");--> statement-breakpoint
CREATE INDEX "working_copies_media" ON "working_copies" USING gin ("media_ids");