-- What has ended stays ended: a token's end was its own, and is its grant's from here on.
UPDATE "grants" g SET "revoked_at" = t."revoked_at" FROM "access_tokens" t
  WHERE t."grant_id" = g."id" AND t."revoked_at" IS NOT NULL AND g."revoked_at" IS NULL;--> statement-breakpoint
-- Where people sat who were asked was never for the developer.
UPDATE "app_attempts" SET "address" = NULL WHERE "step" IN ('authorize', 'consent');--> statement-breakpoint
ALTER TABLE "access_tokens" DROP CONSTRAINT "access_tokens_grant_id_grants_id_fk";--> statement-breakpoint
ALTER TABLE "access_tokens" DROP CONSTRAINT "access_tokens_app_id_apps_id_fk";--> statement-breakpoint
ALTER TABLE "access_tokens" DROP CONSTRAINT "access_tokens_code_id_authorization_codes_id_fk";--> statement-breakpoint
ALTER TABLE "app_attempts" DROP CONSTRAINT "app_attempts_app_id_apps_id_fk";--> statement-breakpoint
ALTER TABLE "app_secrets" DROP CONSTRAINT "app_secrets_app_id_apps_id_fk";--> statement-breakpoint
ALTER TABLE "authorization_codes" DROP CONSTRAINT "authorization_codes_grant_id_grants_id_fk";--> statement-breakpoint
ALTER TABLE "authorization_codes" DROP CONSTRAINT "authorization_codes_app_id_apps_id_fk";--> statement-breakpoint
ALTER TABLE "authorization_requests" DROP CONSTRAINT "authorization_requests_app_id_apps_id_fk";--> statement-breakpoint
DROP INDEX "access_tokens_grant";--> statement-breakpoint
DROP INDEX "access_tokens_code";--> statement-breakpoint
DROP INDEX "authorization_codes_grant";--> statement-breakpoint
DROP INDEX "app_attempts_newest";--> statement-breakpoint
ALTER TABLE "media" ADD COLUMN "created_by_id" uuid;--> statement-breakpoint
ALTER TABLE "apps" ADD CONSTRAINT "apps_of_organisation" UNIQUE("organisation_id","id");--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_of_organisation" UNIQUE("organisation_id","app_id","id");--> statement-breakpoint
ALTER TABLE "access_tokens" ADD CONSTRAINT "access_tokens_of_grant" FOREIGN KEY ("organisation_id","app_id","grant_id") REFERENCES "public"."grants"("organisation_id","app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "app_attempts" ADD CONSTRAINT "app_attempts_of_app" FOREIGN KEY ("organisation_id","app_id") REFERENCES "public"."apps"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "app_secrets" ADD CONSTRAINT "app_secrets_of_app" FOREIGN KEY ("organisation_id","app_id") REFERENCES "public"."apps"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_codes" ADD CONSTRAINT "authorization_codes_of_grant" FOREIGN KEY ("organisation_id","app_id","grant_id") REFERENCES "public"."grants"("organisation_id","app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_requests" ADD CONSTRAINT "authorization_requests_of_app" FOREIGN KEY ("organisation_id","app_id") REFERENCES "public"."apps"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "app_attempts_newest" ON "app_attempts" USING btree ("app_id","step","id");--> statement-breakpoint
ALTER TABLE "access_tokens" DROP COLUMN "code_id";--> statement-breakpoint
ALTER TABLE "access_tokens" DROP COLUMN "revoked_at";--> statement-breakpoint
ALTER TABLE "access_tokens" ADD CONSTRAINT "access_tokens_one_a_grant" UNIQUE("grant_id");--> statement-breakpoint
ALTER TABLE "authorization_codes" ADD CONSTRAINT "authorization_codes_one_a_grant" UNIQUE("grant_id");
