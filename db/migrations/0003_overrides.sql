ALTER TABLE "deliveries" ADD COLUMN "content" text;--> statement-breakpoint
ALTER TABLE "deliveries" ADD COLUMN "media_ids" uuid[];--> statement-breakpoint
-- Counters that a crash may forget: a row written at each request of the API costs no WAL and no wait for the disk.
ALTER TABLE "throttles" SET UNLOGGED;
