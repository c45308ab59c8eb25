ALTER TYPE "public"."mail_kind" ADD VALUE 'sign_up';--> statement-breakpoint
CREATE TABLE "sign_ups" (
	"id" uuid PRIMARY KEY NOT NULL,
	"token_hash" "bytea",
	"email" text NOT NULL,
	"name" text NOT NULL,
	"organisation" text NOT NULL,
	"password_hash" text NOT NULL,
	"time_zone" text NOT NULL,
	"next" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "sign_ups_tokenHash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE INDEX "sign_ups_expiry" ON "sign_ups" USING btree ("expires_at");