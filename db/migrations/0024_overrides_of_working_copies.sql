ALTER TABLE "memberships" ADD COLUMN "last_channel_ids" uuid[];--> statement-breakpoint
ALTER TABLE "working_copies" ADD COLUMN "overrides" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
CREATE INDEX "working_copies_own_media" ON "working_copies" USING gin ("overrides" jsonb_path_ops);