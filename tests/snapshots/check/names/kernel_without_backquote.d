/* test: kernel */
BEGIN { trace(jiffies); }
