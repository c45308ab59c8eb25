ALTER TABLE "channels" ADD COLUMN "limits_due_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
-- Channels that are there are read anew first: their limits say nothing yet of how their server counts links.
ALTER TABLE "channels" ALTER COLUMN "limits_due_at" SET DEFAULT now() + interval '24 hours';--> statement-breakpoint
CREATE INDEX "channels_limits_due" ON "channels" USING btree ("network","limits_due_at");