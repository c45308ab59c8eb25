CREATE TABLE "deleted_drafts" (
	"id" uuid NOT NULL,
	"organisation_id" uuid NOT NULL,
	"post" jsonb NOT NULL,
	"deliveries" jsonb NOT NULL,
	"media" jsonb NOT NULL,
	"media_ids" uuid[] NOT NULL,
	"deleted_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deleted_drafts_organisation_id_id_pk" PRIMARY KEY("organisation_id","id")
);
--> statement-breakpoint
ALTER TABLE "deleted_drafts" ADD CONSTRAINT "deleted_drafts_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deleted_drafts_age" ON "deleted_drafts" USING btree ("deleted_at");--> statement-breakpoint
CREATE INDEX "deleted_drafts_media" ON "deleted_drafts" USING gin ("media_ids");