CREATE TABLE "uploads" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"is_fetch" boolean NOT NULL,
	"bytes" bigint NOT NULL,
	"lease_until" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "uploads_organisation" ON "uploads" USING btree ("organisation_id","lease_until");--> statement-breakpoint
CREATE INDEX "uploads_expiry" ON "uploads" USING btree ("lease_until");--> statement-breakpoint
CREATE INDEX "media_storage" ON "media" USING btree ("organisation_id","bytes");