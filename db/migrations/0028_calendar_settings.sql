ALTER TABLE "accounts" ADD COLUMN "week_start" smallint;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "clock" smallint;--> statement-breakpoint
ALTER TABLE "accounts" ADD CONSTRAINT "week_start_is_a_day" CHECK ("accounts"."week_start" between 1 and 7);--> statement-breakpoint
ALTER TABLE "accounts" ADD CONSTRAINT "clock_is_known" CHECK ("accounts"."clock" in (12, 24));